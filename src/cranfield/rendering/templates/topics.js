"use strict";
// How many topics: read off the table that cranfield computed when it wrote this page.
const Topics = (() => {
  // The smallest n for a square of sd over difference; null where the table ends before it.
  // Between two of its numbers of topics a straight line is within a thousandth of a topic.
  function needed({ topics, ratios }, systems, power, ratio) {
    const row = ratios[systems][power];
    const at = row.findIndex((each) => ratio <= each);
    if (at < 0) return null;
    if (at === 0) return topics[0];
    const share = (ratio - row[at - 1]) / (row[at] - row[at - 1]);
    return Math.ceil(topics[at - 1] + share * (topics[at] - topics[at - 1]));
  }

  return { needed };
})();
if (typeof module !== "undefined") module.exports = Topics;
