/**
 * What is wrong, as far as a running daemon can know, each with the line that mends it.
 *
 * `notReady` is what /readyz answers with; `findings` is what doctor shows besides.
 */

export { findings } from './findings.ts';
export { type Listed, notReady, type Observed, type TroubledPlace } from './observed.ts';
