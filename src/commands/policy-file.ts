/** Reads policies in files. Limits may also be written as sizes, and graces as durations. */

import { z } from 'zod';
import { duration } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Parsed } from '../parsed.ts';
import { issueLines, parseSize, printable } from '../text.ts';
import * as wire from '../wire/index.ts';
import { jsonIn, readWhole } from './files.ts';
import { sizeExpected } from './limits.ts';

/** Accepts numbers also as texts that people write. */
function numberOr(parse: (text: string) => Parsed<unknown>, expected: string) {
  return z.unknown().transform((value, context) => {
    if (typeof value !== 'string') return value;
    const parsed = parse(value);
    if (parsed.ok) return parsed.value;
    context.addIssue(`${JSON.stringify(value)}: ${parsed.problem}; ${expected}`);
    return z.NEVER;
  });
}

/** Accepts `"10G"` as well as 10000000000. */
const size = numberOr(parseSize, sizeExpected).pipe(wire.limit);

const { groups, version } = wire.newWholePolicy.shape;

/** Accepts `"7d"` as well as 604800. */
const grace = numberOr(text => {
  if (text === 'default') return { ok: true, value: text };
  const parsed = duration.parse(text);
  return parsed.ok ? { ok: true, value: parsed.value / 1000 } : parsed;
}, 'write seconds, such as 604800, or "7d"').pipe(wire.newWholeRule.shape.grace);

const policyFile = z.strictObject({
  /** The version in a file that was exported; ignored. */
  version,
  /** Remarks for people. */
  about: z.array(z.string()).optional(),
  rules: z.array(wire.newWholeRule.extend({ limit: size, grace: grace.optional() })).optional(),
  groups: groups.optional(),
  settings: wire.draftPolicy.shape.settings.unwrap().extend({ total: size.optional() }).optional(),
});

type PolicyFile = Omit<z.output<typeof policyFile>, 'about' | 'version'>;

/** `-` is standard input. Throws `invalid` with every fault. */
export function readPolicyFile(file: string): PolicyFile {
  const shown = file === '-' ? 'standard input' : file;
  const read = policyFile.safeParse(jsonIn(readWhole(file), shown, 'invalid'));
  if (read.success) {
    const { version: _, about: __, ...content } = read.data;
    return content;
  }
  const faults = issueLines(read.error);
  throw new SoftquotaError('invalid', faults.map(fault => printable(`${shown}: ${fault}`)).join('\n'));
}

interface Draftable {
  readonly rules?: readonly wire.NewRule[] | undefined;
  readonly groups?:
    | readonly {
        readonly name: string;
        readonly rules?: readonly string[] | null | undefined;
        readonly users?: readonly string[] | null | undefined;
      }[]
    | undefined;
  readonly settings?: PolicyFile['settings'];
}

/** The body of a request that tries a policy. */
export function draftOf({ rules, groups, settings }: Draftable): Readonly<Record<string, unknown>> {
  const named = groups?.map(({ name, rules: names, users }) => ({
    name,
    rules: (names ?? []).map(rule => ({ name: rule })),
    users: users ?? undefined,
  }));
  return { rules, groups: named, settings };
}
