/** The report of `softquota init`: layout, largest owners, owners that a limit would refuse, next steps. */

import { systemAccounts } from '../accounts.ts';
import type { RecognisedLayout, Sized, Survey } from '../doctor/index.ts';
import { triedSchemaVersion, unownedReasons } from '../forge/index.ts';
import type { ObservedForge } from '../health/index.ts';
import { ownerKey } from '../quota/index.ts';
import { counted, formatBytes, formatCount, shellQuoted } from '../text.ts';
import type { OwnerRow, ScanReport } from '../wire/index.ts';
import type { ForgeReport, ProposedLimit } from './init-config.ts';
import { type NewWorker, systemFile } from './new-config.ts';
import { escapedLines, type Texts, table } from './output.ts';
import { scanSummary } from './scan.ts';

export interface Measured {
  readonly scan: ScanReport;
  /** The largest first. */
  readonly owners: readonly OwnerRow[];
  /** Bytes of all owners. */
  readonly total: number;
  /** The first reading of the forge's database; null if the configuration names none. */
  readonly forge: ObservedForge | null;
}

export interface InitReport
  extends Pick<Survey, 'layout' | 'root' | 'evidence' | 'advice' | 'repositories'>,
    Pick<Measured, 'scan' | 'total'> {
  readonly owners: number;
  /** The largest owners, the largest first. */
  readonly largest: readonly OwnerRow[];
  /** The file that was written. */
  readonly config: string;
  /** The state of the forge's database; null without a forge. */
  readonly forge: ForgeReport | null;
  readonly mode: 'report' | 'enforce';
  /** The limit that was written. */
  readonly proposal: ProposedLimit;
  readonly unattributed: {
    readonly repositories: number;
    /** These repositories, and all other data in their root directory that counts for nobody: the largest. */
    readonly directories: Survey['billing']['leftOut'];
    /** The number of all of them. */
    readonly directory_count: number;
    readonly stores: Survey['stores'];
  };
  /** The result of `--worker`: the user that it runs as, and the settings of systemd that were written. */
  readonly worker: {
    readonly user: string;
    readonly units: readonly string[];
    /** True if app.ini has [hooks] KEEP = true. */
    readonly keeps_hooks: boolean;
  } | null;
  readonly next: ReturnType<typeof nextCommands>;
}

/** The shell commands of the next steps; null where there is nothing to run. */
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
    /** Changes the configuration; the daemon reads it with SIGHUP. */
    enforce: `sed -i 's/^MODE = report/MODE = enforce/' ${shellQuoted(file)}`,
    /** Makes the daemon read the forge's database; null if it does already. */
    forge: forge === null ? null : enableForge(forge, file, root),
    worker: worker === null ? null : startWorker(worker, config),
    /** Lets all users who can write the repositories use the gate. */
    members: config === '' ? lettingAsk(writers) : null,
  };
}

/** The command that starts the worker. A socket that is open already has the group of before the drop-in. */
function startWorker({ user, units, kept }: NewWorker, config: string): string {
  if (units.length + kept.length > 0)
    return 'systemctl daemon-reload && systemctl restart softquota-trusted.socket softquota && systemctl enable softquota-worker && systemctl restart softquota-worker';
  const command = `softquota worker${config}`;
  return process.geteuid?.() === 0 ? `runuser -u ${shellQuoted(user)} -- ${command}` : command;
}

/** Adds writers to the group softquota, which the gate's socket belongs to; null if all are in it. */
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

/** The report for people. */
export function initText(report: InitReport, billing: Survey['billing']): string {
  const { config, evidence, advice, layout, root, next, mode, scan } = report;
  const blocks = [
    [
      `Found ${names[layout]} in ${root}:`,
      evidence.map(each => `- ${each}`),
      advice.map(each => `! ${each}`),
    ],
    forgeLines(report),
    // The faults are left out: billingLines lists repositories without an owner.
    linesOf(scanSummary({ ...scan, faults: { first: [], count: 0 } })),
    billingLines(report, billing),
    limitLine(report),
    [
      `Written: ${config}. ${mode === 'report' ? 'Nothing is refused while it has MODE = report.' : 'It has MODE = enforce.'}`,
      '',
      'Start the daemon (as a service: systemctl start softquota):',
      `    ${next.start}`,
      workerLines(report),
      memberLines(next),
      mode === 'report' && enforcing(next),
    ],
  ];
  return blocks
    .map(escapedLines)
    .filter(block => block !== '')
    .join('\n');
}

function linesOf(text: string): readonly string[] {
  return text.trimEnd().split('\n');
}

/** Lines about the forge's database; none without a forge. */
function forgeLines({ forge, next }: InitReport): Texts {
  if (forge === null) return null;
  const { config, fault, rights, unowned } = forge;
  return [
    config !== null && `The forge's configuration: ${config}`,
    fault === null
      ? `${databaseWords(forge)}: the owners' LFS objects, attachments, artifacts and packages count.`
      : [
          `! The forge's database is not read, so LFS objects, attachments, artifacts and packages do not count: ${fault.message}`,
          `  To fix it: ${fault.mend}`,
        ],
    next.forge && ['  Then:', `    ${next.forge}`],
    rights.map(({ message, mend }) => [`! ${message}`, `  To fix it: ${mend}`]),
    unowned.map(
      ({ reason, count, bytes }) =>
        `- ${formatBytes(bytes)} belong to nobody: ${formatCount(count)} ${unownedReasons[reason]}`,
    ),
  ];
}

interface BillingRow extends Sized {
  readonly to: string;
  /** Number of repositories. */
  readonly count?: number | undefined;
  readonly where?: string | undefined;
}

/** A table of all stored bytes: those of each owner, then those that count for nobody, then the sum. */
function billingLines(report: InitReport, billing: Survey['billing']): Texts {
  const { owners, total, largest, root, forge, unattributed } = report;
  const isRead = forge !== null && forge.fault === null;
  const rows = largest.map(({ name, total: bytes }): BillingRow => {
    const { count, directory } = billing.owners.get(ownerKey(name, true)) ?? {};
    return { to: name, bytes, whole: true, count, where: directory };
  });
  const others = owners - largest.length;
  if (others > 0) {
    const bytes = largest.reduce((rest, owner) => rest - owner.total, total);
    rows.push({ to: counted(others, 'smaller owner', 'smaller owners'), bytes, whole: true });
  }
  const left = [...billing.leftOut, ...unattributed.stores].map(
    ({ what, path, ...sized }): BillingRow => ({ ...sized, to: `nobody: ${what}`, where: path }),
  );
  rows.push(...left.slice(0, shownLeftOut));
  const more = left.slice(shownLeftOut);
  if (more.length > 0)
    rows.push(sumOf(`nobody: ${counted(more.length, 'more directory', 'more directories')}`, more));
  const lines = table(
    [...rows, { ...sumOf('all', rows), where: root }],
    [
      ['BILLED TO', row => row.to],
      ['SIZE', ({ bytes, whole }) => `${whole ? '' : 'at least '}${formatBytes(bytes)}`, 'right'],
      ['BYTES', row => String(row.bytes), 'right'],
      ['REPOSITORIES', ({ count }) => (count === undefined ? '-' : formatCount(count)), 'right'],
      ['WHERE', ({ where = '-' }) => where],
    ],
  );
  return [
    largest.length === 0 && 'No owner stores anything yet.',
    linesOf(lines),
    unattributed.stores.length > 0 && !isRead && reporting,
  ];
}

const shownLeftOut = 20;

function sumOf(to: string, rows: readonly BillingRow[]): BillingRow {
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  return { to, bytes, whole: rows.every(({ whole }) => whole) };
}

const reporting =
  'No walk can tell the owners of the last of these. A program that knows them can report them (POST /v1/units, docs/gate.md).';

const mostNamed = 20;

function limitLine({ owners: count, proposal: { total, refused, given } }: InitReport): string {
  const limit = `${given ? 'Limit' : 'Suggested limit'}: TOTAL = ${total}`;
  const all = counted(count, 'owner', 'owners');
  if (refused.length === 0) return `${limit} (none of ${all} is over it today).`;
  const named = refused.slice(0, mostNamed).map(({ name, used }) => `${name} (${formatBytes(used)})`);
  const more = refused.length - named.length;
  const who = more > 0 ? `${named.join(', ')} and ${formatCount(more)} more` : named.join(', ');
  return `${limit} (${formatCount(refused.length)} of ${all} ${refused.length === 1 ? 'is' : 'are'} over it today: ${who}).`;
}

function workerLines({ worker, next }: InitReport): Texts {
  if (worker === null || next.worker === null) return null;
  return [
    `Then start the worker, which runs as ${worker.user}, measures what was deleted, and collects it after an hour:`,
    `    ${next.worker}`,
    worker.units.map(path => `Written for it: ${path}.`),
    worker.keeps_hooks
      ? 'It also guards repositories that others make or copy there.'
      : 'Once the hooks are installed, [hooks] KEEP = true has it guard repositories that others make or copy there, too.',
  ];
}

function memberLines({ members }: InitReport['next']): Texts {
  return (
    members && [
      'These users may write the repositories, and have to be in the group softquota, so that their pushes can be checked (and so does everybody who comes later):',
      `    ${members}`,
    ]
  );
}

function enforcing({ look, hooks, enforce }: InitReport['next']): Texts {
  return [
    `Then check the figures${hooks === null ? '' : ', install the hooks'} and, when the figures are as expected, enforce the limit and send SIGHUP to the daemon (as a service: systemctl reload softquota):`,
    `    ${look}`,
    hooks && `    ${hooks}`,
    `    ${enforce}`,
  ];
}

/** The command that gives app.ini its section `[forge]`; null if it has that already. */
function enableForge(forge: ForgeReport, file: string, root: string): string | null {
  if (forge.database !== null) return null;
  // GitLab's storage sections depend on the database, too, so init has to run again.
  if (forge.config === null || forge.kind === 'gitlab') {
    const old = shellQuoted(`${file}.old`);
    return `mv ${shellQuoted(file)} ${old} && softquota init ${shellQuoted(root)} --forge-config ${forge.config === null ? 'FILE' : shellQuoted(forge.config)} --config ${shellQuoted(file)}`;
  }
  const keys = ['KIND', 'CONFIG', 'DATABASE'].map(key => ` -e 's/^;${key}/${key}/'`);
  return `sed -i -e 's/^;\\[forge\\]/[forge]/'${keys.join('')} ${shellQuoted(file)}`;
}

function databaseWords({ kind, database, schema_version: version }: ForgeReport): string {
  if (version === null) return `Its database (${database}) is read`;
  const tried =
    kind === 'gitea' && version !== triedSchemaVersion
      ? `; softquota was tried with ${triedSchemaVersion}, and all tables and columns that it needs are there`
      : '';
  return `Its database (${database}, schema version ${version}${tried}) is read`;
}
