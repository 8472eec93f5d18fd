/**
 * Reads, writes and checks policies as files. Limits may also be written as sizes, and graces as durations.
 */

import { z } from 'zod';
import { duration, loadConfig } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { Parsed } from '../parsed.ts';
import type { LintSettings } from '../policy/index.ts';
import { issueLines, parseSize, printable, printableJson } from '../text.ts';
import * as wire from '../wire/index.ts';
import { jsonIn, readWhole } from './files.ts';
import { sizeExpected } from './limits.ts';
import { escapedLines } from './output.ts';
import { type ConfigOption, configFrom, whereIs } from './settings.ts';

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

/**
 * Writes a policy as text. Equal policies have equal texts, with a line for each rule and each user, so that
 * changes can be seen in a history. If users are left out, an import keeps the members of each group.
 */
export function policyText({ rules, groups }: wire.WholePolicy, withUsers: boolean): string {
  const texts = groups.map(({ name, rules: named, users }) => {
    const fields = [`"name": ${onOneLine(name)}`, `"rules": ${onOneLine(named)}`];
    if (withUsers) fields.push(`"users": ${below('[', users.map(onOneLine), ']', 6)}`);
    return below('{', fields, '}', 4);
  });
  const lists = [
    `"rules": ${below('[', rules.map(ruleOnOneLine), ']', 2)}`,
    `"groups": ${below('[', texts, ']', 2)}`,
  ];
  return `${printableJson(below('{', lists, '}', 0))}\n`;
}

function ruleOnOneLine({ per, ...rule }: wire.WholePolicy['rules'][number]): string {
  return onOneLine(per === 'owner' ? rule : { ...rule, per });
}

/** Prints JSON on one line. Strings in JSON contain no line breaks. */
function onOneLine(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/([[{])?\n *([\]}])?/g, (_, open = '', close = '') =>
    open === '' && close === '' ? ' ' : open + close,
  );
}

/** Prints the parts one under the other, between brackets that are indented by `depth`. */
function below(open: string, parts: readonly string[], close: string, depth: number): string {
  if (parts.length === 0) return open + close;
  const blanks = ' '.repeat(depth);
  return `${open}\n${parts.map(part => `${blanks}  ${part}`).join(',\n')}\n${blanks}${close}`;
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

/** Whole lines. */
export function faultsText(faults: readonly wire.LintFault[]): string {
  if (faults.length === 0) return 'No problems found.\n';
  return escapedLines(faults.map(({ message }) => message));
}

/** The defaults of [quota]. */
const defaults: LintSettings = {
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: false,
  mode: 'enforce',
  warnAt: [],
  totalBytes: -1,
  defaultGroups: [],
};

/** Checks a policy for mistakes; `-` is standard input. Throws `invalid` if the file is no policy. */
export async function lintFile(file: string, options: ConfigOption): Promise<readonly wire.LintFault[]> {
  const { rules = [], groups = [], settings = {} } = readPolicyFile(file);
  const known = knownSettings(options);
  const { lintApart, ruleFrom } = await import('../policy/index.ts');
  const policy = {
    rules: rules.map(({ name, limit, subjects, per, mode }) =>
      ruleFrom(name, {
        limitBytes: limit,
        ...given({ subjects: subjects ?? undefined, per: per ?? undefined, mode: mode ?? undefined }),
      }),
    ),
    groups: groups.map(({ name, rules: named, users }) => ({
      name,
      rules: (named ?? []).map(rule => ({ name: rule })),
      // Without a list a group keeps its members; the file does not say how many.
      ownerIds: users?.map((_, index) => index) ?? [0],
    })),
  };
  const wanted = given({
    totalBytes: settings.total,
    defaultGroups: settings.default_groups,
    refuseWhen: settings.refuse_when,
    uncovered: settings.uncovered,
  });
  try {
    const faults = lintApart(policy, { ...(known ?? defaults), ...wanted });
    const areSettingsKnown = known !== null || settings.total !== undefined || settings.uncovered === 'deny';
    return areSettingsKnown ? faults : faults.filter(({ code }) => code !== 'uncovered_subject');
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'invalid') throw error;
    throw new SoftquotaError('invalid', `${file}: ${error.message}`, { cause: error });
  }
}

/** The settings of app.ini; null if no file is named, and none in the usual places can be used. */
function knownSettings(options: ConfigOption): LintSettings | null {
  const where = whereIs(options);
  const isNamed = where.file !== undefined || (where.env.SOFTQUOTA_CONFIG ?? '') !== '';
  if (isNamed) return configFrom(options).quota;
  const loaded = loadConfig(where);
  return loaded.ok ? loaded.config.quota : null;
}
