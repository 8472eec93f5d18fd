/** The table of docs/metrics.md. */

import { readFileSync } from 'node:fs';
import { metricSpecs } from '../../src/daemon/metrics.ts';

const begin = '<!-- metrics: written by npm run generate -->';
const end = '<!-- end of metrics -->';

/** docs/metrics.md with the table as it should be; all else stays. */
export function metricsReference(): string {
  const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/metrics.md lacks "${begin}" or "${end}"`);
  const rows = Object.entries(metricSpecs).map(
    ([name, { kind, help, labels }]) =>
      `| \`${name}\` | ${kind} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help} |\n`,
  );
  return `${before}${begin}\n| metric | kind | labels | meaning |\n|---|---|---|---|\n${rows.join('')}${end}${after}`;
}
