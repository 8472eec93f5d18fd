#!/usr/bin/env node
/**
 * Starts the command line: from src/ in a checkout, where Node strips the types itself, from dist/ in the
 * published package, where it would not.
 *
 * In: the command's arguments. Out: the command's exit status; 70 where Node is too old.
 */
import { existsSync } from 'node:fs';

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `softquota: Node.js ${process.versions.node} is too old: 24 or later is needed.\n` +
      'In a checkout, npx softquota brings its own once npm ci has run.\n',
  );
  process.exit(70);
}
const source = new URL('../src/bin.ts', import.meta.url);
const { main } = await import(
  existsSync(source) ? source.href : new URL('../dist/bin.js', import.meta.url).href
);
process.exitCode = await main(process.argv.slice(2));
