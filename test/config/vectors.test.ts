import { readFileSync } from 'node:fs';
import t from 'tap';
import { z } from 'zod';
import { configOf, faultsOf } from './written.ts';

const vectors = z
  .object({
    sizes: z.array(z.object({ text: z.string(), bytes: z.union([z.number(), z.literal('error')]) })),
    defaultGroups: z.array(z.object({ ini: z.string(), defaultGroups: z.array(z.string()) })),
  })
  .parse(JSON.parse(readFileSync(new URL('../vectors/config.json', import.meta.url), 'utf8')));

t.test('TOTAL takes every recorded size, and refuses what is none', async t => {
  for (const { text, bytes } of vectors.sizes) {
    const ini = `[quota.default]\nTOTAL = ${text}\n`;
    if (bytes === 'error') {
      const faults = faultsOf(t, ini);
      t.equal(faults.length, 1, `"${text}"`);
      t.match(faults[0], /^app\.ini:2: \[quota\.default\] TOTAL = ".*": .+ Write a number and a unit/u);
    } else {
      t.equal(configOf(t, ini).quota.totalBytes, bytes, `"${text}"`);
    }
  }
});

t.test('DEFAULT_GROUPS takes every recorded list', async t => {
  for (const { ini, defaultGroups } of vectors.defaultGroups) {
    t.same(configOf(t, ini).quota.defaultGroups, defaultGroups, JSON.stringify(ini));
  }
});
