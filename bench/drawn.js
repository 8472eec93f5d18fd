/**
 * Runs in the page that is measured: tells when what was asked for can be seen, in milliseconds.
 *
 * The rows of an answer can be seen in the frame after the one in which they were put into the page. The
 * frame after that begins when it is drawn: that is where the clock is stopped.
 */

/** Of the page itself, once the first row can be seen: from the beginning of its navigation. */
globalThis.firstRow = seen(() => document.querySelector('tbody tr') !== null).then(() => performance.now());

/** The milliseconds from the beginning of the page's navigation until all of it is there. */
globalThis.wholePage = seen(
  () => document.querySelector('h1') !== null && document.querySelector('.skeleton') === null,
).then(() => performance.now());

/**
 * From an event, a key, a click or a choice, until its rows can be seen. `rows` are the names in front, with
 * a blank between; they are others than those of before.
 */
globalThis.untilDrawn = async (event, rows) => {
  performance.clearResourceTimings();
  let begun = null;
  const notice = ({ timeStamp }) => {
    begun = timeStamp;
  };
  addEventListener(event, notice, { capture: true, once: true });
  const isThere = () => begun !== null && namesInFront() === rows;
  if (namesInFront() === rows) throw new Error(`before the ${event} there are the same rows as after it`);
  let thereMs = 0;
  await seen(isThere, () => {
    thereMs = performance.now();
  });
  const drawnMs = performance.now();
  // The page asks other things too, each few seconds; one that asks for nothing has none.
  const asked = performance
    .getEntriesByType('resource')
    .findLast(
      ({ name, startTime, responseEnd }) =>
        name.includes('/usage?') && startTime > begun && responseEnd <= thereMs,
    );
  return {
    drawnMs: drawnMs - begun,
    askedMs: asked === undefined ? null : asked.startTime - begun,
    answeredMs: asked === undefined ? null : asked.responseEnd - begun,
    thereMs: thereMs - begun,
  };
};

function namesInFront() {
  return [...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent).join(' ');
}

/** Resolves in the frame after the one that shows that it is so. */
function seen(isSo, there = () => {}) {
  return new Promise(resolve => {
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true, characterData: true });
    look();
    function look() {
      if (!isSo()) return;
      observer.disconnect();
      there();
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    }
  });
}
