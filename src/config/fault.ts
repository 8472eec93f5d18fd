/** Faults of a configuration and their places, and where each given value came from. */

import { printable } from '../text/index.ts';

/** Place where a value was written. */
export type ConfigOrigin =
  | { readonly in: 'file'; readonly file: string; readonly line: number }
  /** `file`: what a variable ending in `__FILE` names. */
  | { readonly in: 'variable'; readonly variable: string; readonly file: string | null };

/** One value, of a key that may or may not exist. */
export interface ConfigEntry {
  /** In lower case. */
  readonly section: string;
  /** In capitals. */
  readonly name: string;
  readonly text: string;
  readonly origin: ConfigOrigin;
}

export interface ConfigFault {
  /** The configuration's file, or the one that a `__FILE` variable names. */
  readonly file?: string;
  readonly variable?: string;
  readonly line?: number;
  readonly section?: string;
  readonly key?: string;
  /** Value as written; never there for secrets, and without the passwords of addresses. */
  readonly value?: string;
  /** Tells what is wrong, and what to write: whole sentences. */
  readonly message: string;
}

/** The values that a file or the environment sets, and what is wrong there. */
export interface ReadEntries {
  readonly entries: readonly ConfigEntry[];
  readonly faults: readonly ConfigFault[];
}

/** Identifies a key: two entries of one key have the same. */
export function keyId({ section, name }: { readonly section: string; readonly name: string }): string {
  return `${section}\0${name}`;
}

export function faultAt(
  origin: ConfigOrigin | null,
  rest: Omit<ConfigFault, 'file' | 'variable' | 'line'>,
): ConfigFault {
  if (origin === null) return rest;
  if (origin.in === 'file') return { file: origin.file, line: origin.line, ...rest };
  return { variable: origin.variable, ...(origin.file === null ? {} : { file: origin.file }), ...rest };
}

const longestShown = 120;

/**
 * One fault a line, each in the order it was found:
 * `app.ini:12: [quota.default] TOTAL = "10 gigs": not a size. …`.
 */
export function formatFaults(faults: readonly ConfigFault[]): string {
  return faults.map(formatFault).join('\n');
}

function formatFault(fault: ConfigFault): string {
  const section = fault.section === undefined ? [] : [`[${fault.section}]`];
  const value = fault.value === undefined ? [] : ['=', `"${shortened(fault.value)}"`];
  const subject = [...section, ...(fault.key === undefined ? [] : [fault.key, ...value])].join(' ');
  return printable([placeOf(fault), subject, fault.message].filter(part => part !== '').join(': '));
}

function placeOf({ file, line, variable }: ConfigFault): string {
  if (variable !== undefined) return file === undefined ? variable : `${variable} (${file})`;
  return file === undefined || line === undefined ? (file ?? '') : `${file}:${line}`;
}

function shortened(text: string): string {
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}...`;
}
