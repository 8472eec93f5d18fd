/** The report of `softquota init`: layout, largest owners, owners that a limit would refuse, next steps. */

import { systemAccounts } from '../accounts.ts';
import type { RecognisedLayout, Survey } from '../doctor/index.ts';
import { triedSchemaVersion, unownedReasons } from '../forge/index.ts';
import { counted, formatBytes, formatCount, shellQuoted } from '../text/index.ts';
import type { Measured } from './first-measure.ts';
import type { ProposedLimit } from './init-config.ts';
import type { ForgeReport } from './init-forge.ts';
import { type NewWorker, systemFile } from './new-config.ts';
import { escapedLines, table } from './output.ts';
import { scanSummary } from './scan.ts';
import { ownersTable } from './usage.ts';

export interface InitReport
  extends Pick<Survey, 'layout' | 'root' | 'evidence' | 'advice' | 'repositories'>,
    Pick<Measured, 'scan' | 'owners' | 'largest'> {
  /** The file that was written. */
  readonly config: string;
  /** The state of the forge's database; null without a forge. */
  readonly forge: ForgeReport | null;
  readonly mode: 'report' | 'enforce';
  /** The limit that was written. */
  readonly proposal: ProposedLimit;
  readonly unattributed: {
    readonly repositories: number;
    /** One of them. */
    readonly such: readonly string[];
    readonly stores: Survey['stores'];
  };
  /** The result of `--worker`: the user that it runs as, and the settings of systemd that were written. */
  readonly worker: { readonly user: string; readonly units: readonly string[] } | null;
  readonly next: ReturnType<typeof nextCommands>;
}

/** Shell commands; null: there is nothing to run. */
export function nextCommands(
  file: string,
  { layout, root, writers }: Pick<Survey, 'layout' | 'root' | 'writers'>,
  forge: ForgeReport | null,
  worker: NewWorker | null,
) {
  const config = file === systemFile ? '' : ` --config ${shellQuoted(file)}`;
  const where = layout === 'gitolite' ? '--gitolite' : shellQuoted(root);
  return {
    start: `softquota serve${config}`,
    look: `softquota usage${config}`,
    hooks: layout === 'gitlab' ? null : `softquota hooks install ${where}${config}`,
    /** Changes the configuration; the daemon takes it with SIGHUP. */
    enforce: `sed -i 's/^MODE = report/MODE = enforce/' ${shellQuoted(file)}`,
    /** Has the forge's database read, unless it is. */
    forge: forge === null ? null : enableForge(forge, file, root),
    worker: worker === null ? null : startWorker(worker, config),
    /** Lets everybody ask who may write the repositories. */
    members: config === '' ? lettingAsk(writers) : null,
  };
}

/** systemd reads new settings when a unit is enabled. */
function startWorker({ user, units }: NewWorker, config: string): string {
  if (units.length > 0) return 'systemctl enable --now softquota-worker';
  const command = `softquota worker${config}`;
  return process.geteuid?.() === 0 ? `runuser -u ${shellQuoted(user)} -- ${command}` : command;
}

/** The gate's socket belongs to the group softquota. */
function lettingAsk(writers: readonly string[]): string | null {
  const group = systemAccounts().groups.find(({ name }) => name === 'softquota');
  const others = writers.filter(name => group?.members.includes(name) !== true);
  if (others.length === 0) return null;
  return `for user in ${others.map(shellQuoted).join(' ')}; do usermod --append --groups softquota "$user"; done`;
}

const names: Readonly<Record<RecognisedLayout, string>> = {
  owners: 'bare repositories in owner directories',
  flat: 'bare repositories without owner directories',
  gitolite: 'gitolite',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
  gogs: 'Gogs',
  gitlab: 'GitLab',
};

export function initText(report: InitReport): string {
  const { config, evidence, advice, layout, root, next, mode, scan } = report;
  const blocks = [
    [
      `Found ${names[layout]} in ${root}:`,
      ...evidence.map(each => `- ${each}`),
      ...advice.map(each => `! ${each}`),
    ],
    forgeLines(report),
    // Repositories without an owner are listed below, once and not for each.
    linesOf(scanSummary({ ...scan, faults: { first: [], count: 0 } })),
    ownerLines(report),
    [limitLine(report)],
    unattributedLines(report),
    [
      `Written: ${config}. ${mode === 'report' ? 'Nothing is refused while it has MODE = report.' : 'It has MODE = enforce.'}`,
      '',
      'Start the daemon (as a service: systemctl start softquota):',
      `    ${next.start}`,
      ...workerLines(report),
      ...memberLines(next),
      ...(mode === 'report' ? enforcing(next) : []),
    ],
  ];
  return blocks
    .filter(block => block.length > 0)
    .map(escapedLines)
    .join('\n');
}

function linesOf(text: string): readonly string[] {
  return text.trimEnd().split('\n');
}

/** Empty without a forge. */
function forgeLines({ forge, next }: InitReport): readonly string[] {
  if (forge === null) return [];
  const { config, fault, rights, unowned } = forge;
  return [
    ...(config === null ? [] : [`The forge's configuration: ${config}`]),
    ...(fault === null
      ? [`${databaseWords(forge)}: the owners' LFS objects, attachments, artifacts and packages count.`]
      : [
          `! The forge's database is not read, so LFS objects, attachments, artifacts and packages do not count: ${fault.message}`,
          `  To fix it: ${fault.mend}`,
        ]),
    ...(next.forge === null ? [] : ['  Then:', `    ${next.forge}`]),
    ...rights.flatMap(({ message, mend }) => [`! ${message}`, `  To fix it: ${mend}`]),
    ...unowned.map(
      ({ reason, count, bytes }) =>
        `- ${formatBytes(bytes)} belong to nobody: ${formatCount(count)} ${reasonWords[reason] ?? reason}`,
    ),
  ];
}

function ownerLines({ owners: count, largest }: InitReport): readonly string[] {
  if (largest.length === 0) return ['No owner stores anything yet.'];
  const more = count - largest.length;
  const rest = more > 0 ? [`… and ${counted(more, 'smaller owner', 'smaller owners')}.`] : [];
  return [...linesOf(ownersTable(largest)), ...rest];
}

function limitLine({ owners: count, proposal: { total, refused, given } }: InitReport): string {
  const limit = `${given ? 'Limit' : 'Suggested limit'}: TOTAL = ${total}`;
  const all = counted(count, 'owner', 'owners');
  if (refused.length === 0) return `${limit} (none of ${all} is over it today).`;
  const who = refused.map(({ name, used }) => `${name} (${formatBytes(used)})`).join(', ');
  return `${limit} (${refused.length} of ${all} ${refused.length === 1 ? 'is' : 'are'} over it today: ${who}).`;
}

function unattributedLines({ forge, unattributed }: InitReport): readonly string[] {
  const { repositories, such, stores } = unattributed;
  const without =
    repositories === 1
      ? `${such.join()} has no owner, so it is not counted.`
      : `${formatCount(repositories)} repositories have no owner, such as ${such.join()}; they are not counted.`;
  const about =
    forge !== null && forge.fault === null
      ? 'This data belongs to nobody:'
      : 'The owners of this data cannot be found on the disk, so it is not measured. A program that knows the owners can report it (POST /v1/units, docs/gate.md):';
  const rows = table(stores, [
    ['WHAT', store => store.what],
    ['SIZE', ({ whole, bytes }) => `${whole ? '' : 'at least '}${formatBytes(bytes)}`, 'right'],
    ['WHERE', store => store.path],
  ]);
  const shown = stores.length === 0 ? [] : [about, ...linesOf(rows)];
  return repositories === 0 ? shown : [without, ...shown];
}

function workerLines({ worker, next }: InitReport): readonly string[] {
  if (worker === null || next.worker === null) return [];
  return [
    `Then start the worker, which runs as ${worker.user} and measures what was deleted:`,
    `    ${next.worker}`,
    ...worker.units.map(path => `Written for it: ${path}.`),
    'Once the hooks are installed, [hooks] KEEP = true has it guard repositories that others make or copy there, too.',
  ];
}

function memberLines({ members }: InitReport['next']): readonly string[] {
  if (members === null) return [];
  return [
    'These users may write the repositories, and have to be in the group softquota, so that their pushes can be checked (and so does everybody who comes later):',
    `    ${members}`,
  ];
}

function enforcing({ look, hooks, enforce }: InitReport['next']): readonly string[] {
  return [
    `Then check the figures${hooks === null ? '' : ', install the hooks'} and, when the figures are as expected, enforce the limit and send SIGHUP to the daemon (as a service: systemctl reload softquota):`,
    `    ${look}`,
    ...(hooks === null ? [] : [`    ${hooks}`]),
    `    ${enforce}`,
  ];
}

/** Null if app.ini has `[forge]` already. */
function enableForge(forge: ForgeReport, file: string, root: string): string | null {
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
