/**
 * Notes what a test file covers of src/, for `tap report`.
 *
 * NODE_V8_COVERAGE would have Node count how often each line runs, in every program and thread that a test
 * starts, and write down all packages too: a test takes half as long again. Here is noted whether a line
 * runs, in the test's own process.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';

const sources = new URL('../src/', import.meta.url).href;

/**
 * Begins before what is to be covered is loaded, and writes a file into the directory when the process exits.
 */
export function noteCoverage(directory: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  process.on('exit', () => {
    let covered: readonly Profiler.ScriptCoverage[] = [];
    let fault: Error | null = null;
    // Called before `post` returns; what is thrown in it goes unheard.
    session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      fault = error;
      covered = coverage.result;
    });
    if (fault !== null) throw fault;
    const result = covered.filter(({ url }) => url.startsWith(sources));
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `coverage-${process.pid}-${Date.now()}.json`), JSON.stringify({ result }));
  });
}
