/* libFuzzer's side of fuzz_scanner.py: Python with the scanner built in; every input goes to `try_input`.

   The scanner is compiled so that it takes its memory here: the second byte of an input says which of its allocations
   fails, 0 that none does. */

#include <Python.h>

#include <stdint.h>
#include <stdlib.h>

PyMODINIT_FUNC PyInit__scan(void);

static size_t until_failure; /* allocations up to the one that fails; 0: none does */
static PyObject *try_input;

static int fails(void) { return until_failure != 0 && --until_failure == 0; }

void *scanner_malloc(size_t size) { return fails() ? NULL : malloc(size); }
void *scanner_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }
void *scanner_realloc(void *at, size_t size) { return fails() ? NULL : realloc(at, size); }

static void stop(void) {
    PyErr_Print();
    abort();
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    config.parse_argv = 0;
    if (PyImport_AppendInittab("_scan", PyInit__scan) < 0 ||
        PyStatus_Exception(PyConfig_SetBytesString(&config, &config.program_name, PYTHON)) ||
        PyStatus_Exception(Py_InitializeFromConfig(&config))) {
        abort();
    }
    PyConfig_Clear(&config);
    PyRun_SimpleString("import sys, _scan; sys.modules['cranfield.formats._scan'] = _scan");
    PyObject *script = PyImport_ImportModule("fuzz_scanner");
    try_input = script == NULL ? NULL : PyObject_GetAttrString(script, "try_input");
    if (try_input == NULL) {
        stop();
    }
    return 0;
}

/* The input is given as it lies, so that the address sanitizer knows where it ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *input = PyMemoryView_FromMemory((char *)(uintptr_t)data, (Py_ssize_t)size, PyBUF_READ);
    until_failure = size > 1 ? data[1] : 0;
    PyObject *done = input == NULL ? NULL : PyObject_CallOneArg(try_input, input);
    until_failure = 0;
    if (done == NULL) {
        stop();
    }
    Py_DECREF(done);
    Py_DECREF(input);
    return 0;
}
