/** Does the work of `softquota init`, in a process of its own because a disk may block it for ever. */

import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import {
  type ForgeFound,
  forgeReadFindings,
  missingGits,
  type Survey,
  survey,
  surveyPlaces,
  wellKnownPlaces,
} from '../doctor/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { ForgeFault, type ForgeKind, probeForge, sqliteFileOf } from '../forge/index.ts';
import type { ObservedForge } from '../health/index.ts';
import { shellQuoted } from '../text.ts';
import type { Overview, OwnerRow, ScanReport } from '../wire/index.ts';
import { type DaemonClient, everyRow, localAdminClient } from './client.ts';
import {
  configText,
  type FaultReport,
  type ForgeReport,
  type ProposedLimit,
  proposeTotal,
} from './init-config.ts';
import { type InitReport, initText, type Measured, nextCommands } from './init-report.ts';
import type { HooksTask, InitOptions, Printed } from './job.ts';
import { limitOf } from './limits.ts';
import {
  loadDraft,
  makeDirectories,
  placesFor,
  refuseExisting,
  workerFor,
  writeNew,
  writeUnits,
} from './new-config.ts';
import { jsonText } from './output.ts';
import { followScan } from './scan.ts';
import { statusTold, tellUnread } from './streams.ts';

/** The output, and the hooks to install; null if the forge runs no hooks of repositories. */
export interface Initialised extends Printed {
  readonly hooks: Pick<HooksTask, 'roots' | 'options'> | null;
}

/**
 * Surveys and measures the root, then writes the configuration, which appears only if nothing failed before.
 * Null: the usual places are surveyed.
 */
export async function initialise(root: string | null, options: InitOptions): Promise<Initialised> {
  const { json = false, enforce = false, hooks: installsHooks = false, worker: hasWorker = false } = options;
  const file = resolve(options.config);
  const forgeConfig = options.forgeConfig === undefined ? null : resolve(options.forgeConfig);
  const totalBytes = options.total === undefined ? null : limitOf(options.total, '--total');
  const mode = enforce ? 'enforce' : 'report';
  refuseExisting(file);
  const first = await surveyed(root, forgeConfig);
  const asked = first.forge === null ? null : await askForge(first.forge, process.env);
  const isForgeAway = first.layout === 'gitlab' && asked !== null && asked.fault !== null;
  const found = isForgeAway ? await survey(first.root, { forgeConfig, isForgeAway }) : first;
  const worker = hasWorker ? workerFor(file, found) : null;
  const places = placesFor(file, found.gid, worker?.group ?? null);
  makeDirectories(file, places);
  const gits = await missingGits(['git']);
  // gitolite puts its hooks into new repositories itself, and GitLab runs none of a repository.
  const keepsHooks = hasWorker && installsHooks && !['gitolite', 'gitlab'].includes(found.layout);
  const textWith = (limit: ProposedLimit) =>
    configText(found, places, { mode, limit, hasWorker, keepsHooks, gits }, asked);
  const config = loadDraft(file, textWith(proposeTotal([], totalBytes ?? -1)));
  await refuseRunning(config);
  const { scan, owners, total, forge: read } = await measureFirst(config, places.account);
  const proposal = proposeTotal(owners, totalBytes);
  // Another run replaces these, and no app.ini.
  if (worker !== null) writeUnits(worker);
  writeNew(file, textWith(proposal));
  const forge = asked && (await afterReading(asked, read, config, places.account));
  const { layout, evidence, advice, repositories, ownerless, stores } = found;
  const report: InitReport = {
    config: file,
    layout,
    root: found.root,
    evidence,
    advice,
    repositories,
    forge,
    scan,
    owners: owners.length,
    total,
    largest: owners.slice(0, shownOwners),
    mode,
    proposal,
    unattributed: {
      repositories: ownerless.length,
      directories: found.billing.leftOut.slice(0, mostListed),
      directory_count: found.billing.leftOut.length,
      // The database names the owners of every store that has a subject.
      stores:
        forge !== null && forge.fault === null ? stores.filter(({ subject }) => subject === null) : stores,
    },
    worker: worker && {
      user: worker.user,
      units: worker.units.map(unit => unit.path),
      keeps_hooks: keepsHooks,
    },
    next: nextCommands(file, found, forge, worker),
  };
  tellUnread(found.unread);
  const ofGitolite = { roots: [], options: { config: file, gitolite: dirname(found.root) } };
  const hooks = layout === 'gitolite' ? ofGitolite : { roots: [found.root], options: { config: file } };
  return {
    output: json ? jsonText(report) : initText(report, found.billing),
    status: statusTold(exitCodes.done),
    hooks: layout === 'gitlab' ? null : hooks,
  };
}

async function surveyed(root: string | null, forgeConfig: string | null): Promise<Survey> {
  if (root !== null) return survey(resolve(root), { forgeConfig });
  if (forgeConfig === null) return surveyPlaces(wellKnownPlaces());
  throw new SoftquotaError(
    'usage',
    `--forge-config ${forgeConfig} needs the directory of the forge: softquota init ROOT --forge-config FILE`,
  );
}

const shownOwners = 10;
const mostListed = 1000;

/** Throws `conflict` if a daemon uses the store: it has figures already. */
async function refuseRunning(config: Config): Promise<void> {
  try {
    await localAdminClient(config).ask({ path: '/version' });
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'unreachable') return;
    throw error;
  }
  const { dataPath, adminSocket } = config.server;
  throw new SoftquotaError(
    'conflict',
    `a daemon with DATA_PATH = ${dataPath} is already running (it answers at ${adminSocket}): softquota usage shows its figures; stop it to start again`,
  );
}

/**
 * Measures everything once, and makes `account` the owner of the data. Runs a daemon on sockets that nobody
 * else knows, with the store of the later daemon, which then knows the figures from its start. Rejects with
 * `configuration`, `store_refused`, or `not_ready` if the scan fails.
 */
async function measureFirst(
  config: Config,
  account: { readonly uid: number; readonly gid: number } | null,
): Promise<Measured> {
  const { Daemon } = await import('../daemon/index.ts');
  const { createLogger } = await import('../service/index.ts');
  const folder = mkdtempSync(join(tmpdir(), 'softquota-'));
  const { log, flush } = createLogger({ level: 'error', format: 'pretty' });
  const own = onOwnSockets(config, folder);
  try {
    // The environment may hold sockets of the service manager, which are not meant for this daemon.
    const daemon = await Daemon.start({ config: own, env: {}, log });
    try {
      return await measured(localAdminClient(own), () => daemon.firstForgeReading());
    } finally {
      await daemon.stop();
    }
  } finally {
    await flush();
    rmSync(folder, { recursive: true, force: true });
    if (account !== null) give(config.server.dataPath, account);
  }
}

function onOwnSockets(config: Config, folder: string): Config {
  return {
    ...config,
    server: {
      ...config.server,
      socket: join(folder, 'gate.sock'),
      socketGroup: null,
      trustedSocket: join(folder, 'trusted.sock'),
      trustedGroup: null,
      adminSocket: join(folder, 'admin.sock'),
      httpPort: 0,
    },
  };
}

/** Waits for the scan with which each daemon starts. */
async function measured(
  client: DaemonClient,
  forgeRead: () => Promise<ObservedForge | null>,
): Promise<Measured> {
  const scans = await client.get<readonly ScanReport[]>({ path: '/admin/quota/scans' });
  const first = scans.at(-1);
  if (first === undefined) throw new SoftquotaError('internal', 'the daemon measures nothing');
  const scan = await followScan(client, first.id);
  if (scan.state !== 'done') {
    const message = `the measurement did not finish: the scan is ${scan.state}: ${scan.error ?? ''}`;
    throw new SoftquotaError('not_ready', message);
  }
  const forge = await forgeRead();
  const owners = await everyRow<OwnerRow>(client, '/admin/quota/usage', {});
  const { total } = await client.get<Overview>({ path: '/admin/quota/overview' });
  return { scan, total, owners, forge };
}

/**
 * Makes the account the owner of a directory and everything in it, once nothing writes there any more. If the
 * account controls the directory already, it may have put links there: symbolic links are not followed, and
 * files with several names keep their owner.
 */
function give(directory: string, account: { readonly uid: number; readonly gid: number }): void {
  const handle = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // Paths through the open directory stay right if it is moved meanwhile.
    const opened = `/proc/self/fd/${handle}`;
    for (const name of readdirSync(opened)) {
      const path = join(opened, name);
      const about = lstatSync(path);
      if (about.isDirectory()) give(path, account);
      else if (about.isFile() && about.nlink === 1) lchownSync(path, account.uid, account.gid);
    }
    fchownSync(handle, account.uid, account.gid);
  } finally {
    closeSync(handle);
  }
}

/** Checks the version and the tables of the database; reads no rows yet. */
async function askForge(found: ForgeFound, env: NodeJS.ProcessEnv): Promise<ForgeReport> {
  const { kind, configFile, databases } = found;
  const report = { kind, config: configFile, address: null, database: null, schema_version: null };
  const nothing = { fault: null, rights: [], unowned: [] };
  if (configFile === null) return { ...report, ...nothing, fault: notConfigured(found) };
  let address: string | null = null;
  try {
    address = addressFor(kind, configFile, databases, env);
    const settings = { kind, configFile, database: address, ownerLevel: 'top', praefect: null } as const;
    const { database, schemaVersion } = await probeForge(settings, env);
    return { ...report, address, database, schema_version: schemaVersion, ...nothing };
  } catch (error) {
    if (!(error instanceof ForgeFault)) throw error;
    return { ...report, address, ...nothing, fault: faultReport(error) };
  }
}

/**
 * Completes the report once the daemon has read the database, which may fail although it answered before.
 * `account`: the daemon's user, who may not be allowed to read the files; null: the user who runs this.
 */
async function afterReading(
  asked: ForgeReport,
  read: ObservedForge | null,
  config: Config,
  account: { readonly uid: number; readonly gid: number } | null,
): Promise<ForgeReport> {
  const findings = account === null ? [] : await forgeReadFindings(config, account, process.env);
  const rights = findings.map(({ message, mend }) => ({ message, mend }));
  if (read === null) return { ...asked, rights };
  const fault = read.fault === null ? null : faultReport(read.fault);
  return { ...asked, fault, rights, unowned: read.unowned };
}

/**
 * Finds the SQLite file if the path in the forge's app.ini does not exist here: a container's app.ini has
 * paths inside the container, and one in /etc may lack the working directory. Null: the app.ini's own address
 * can be used, or no file was found.
 */
function addressFor(
  kind: ForgeKind,
  configFile: string,
  databases: readonly string[],
  env: NodeJS.ProcessEnv,
): string | null {
  const named = sqliteFileOf(kind, configFile, env);
  if (named === null || existsSync(named)) return null;
  const alike = databases.filter(path => basename(path) === basename(named));
  const path = [...alike, ...databases].find(path => existsSync(path));
  return path === undefined ? null : `sqlite:${path}`;
}

/** Drops the other fields of a fault, such as its cause. */
function faultReport({ code, message, mend }: FaultReport): FaultReport {
  return { code, message, mend };
}

function notConfigured({ kind, passedOver }: ForgeFound): FaultReport {
  if (passedOver === null) {
    return {
      code: 'configuration',
      message: `no ${kind === 'gitlab' ? 'gitlab.rb or database.yml' : `app.ini of ${kind}`} is where one usually is`,
      mend: 'find it, and name it with --forge-config FILE',
    };
  }
  const { file, why } = passedOver;
  const reason = why === 'closed' ? 'this user may not read it' : 'only a hook of a repository names it';
  const first =
    why === 'closed' ? 'run init as root, or let this user read it' : "check that it is the forge's";
  return {
    code: 'configuration',
    message: `${file} was not taken as the configuration of ${kind}: ${reason}`,
    mend: `${first}; then name it: --forge-config ${shellQuoted(file)}`,
  };
}
