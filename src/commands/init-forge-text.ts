/** The forge's part of the report of `softquota init`. */

import { triedSchemaVersion, unownedReasons } from '../forge/index.ts';
import { formatBytes, formatCount, shellQuoted } from '../text/index.ts';
import type { ForgeReport } from './init-forge.ts';
import { escapedLines } from './output.ts';

/** Whole lines; empty without a forge. `enable`: the command that has the database read once it can be. */
export function forgeText(forge: ForgeReport | null, enable: string | null): string {
  if (forge === null) return '';
  const { config, fault, rights, unowned } = forge;
  const texts = [
    ...(config === null ? [] : [`The forge's configuration: ${config}`]),
    ...(fault === null
      ? [`${databaseWords(forge)}: the owners' LFS objects, attachments, artifacts and packages count.`]
      : [
          `! The forge's database is not read, so LFS objects, attachments, artifacts and packages do not count: ${fault.message}`,
          `  To fix it: ${fault.mend}`,
        ]),
    ...(enable === null ? [] : ['  Then:', `    ${enable}`]),
    ...rights.flatMap(({ message, mend }) => [`! ${message}`, `  To fix it: ${mend}`]),
    ...unowned.map(
      ({ reason, count, bytes }) =>
        `- ${formatBytes(bytes)} belong to nobody: ${formatCount(count)} ${reasonWords[reason] ?? reason}`,
    ),
  ];
  return escapedLines(texts);
}

/** Null if app.ini has `[forge]` already. */
export function enableForge(forge: ForgeReport, file: string, root: string): string | null {
  if (forge.database !== null) return null;
  // The owners of GitLab's repositories depend on the storage sections, too.
  if (forge.config === null || forge.kind === 'gitlab') {
    const old = shellQuoted(`${file}.old`);
    return `mv ${shellQuoted(file)} ${old} && softquota init ${shellQuoted(root)} --forge-config ${forge.config === null ? 'FILE' : shellQuoted(forge.config)} --config ${shellQuoted(file)}`;
  }
  const keys = ['KIND', 'CONFIG', 'DATABASE'].map(key => ` -e 's/^;${key}/${key}/'`);
  return `sed -i -e 's/^;\\[forge\\]/[forge]/'${keys.join('')} ${shellQuoted(file)}`;
}

const reasonWords: Readonly<Record<string, string>> = unownedReasons;

function databaseWords({ kind, database, schema_version: version }: ForgeReport): string {
  if (version === null) return `Its database (${database}) is read`;
  const tried =
    kind === 'gitea' && version !== triedSchemaVersion
      ? `; softquota was tried with ${triedSchemaVersion}, and all tables and columns that it needs are there`
      : '';
  return `Its database (${database}, schema version ${version}${tried}) is read`;
}
