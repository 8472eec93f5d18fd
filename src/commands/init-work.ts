/** Does the work of `softquota init`, in a process of its own because a disk may block it for ever. */

import { dirname, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { missingGits, type Survey, survey, surveyPlaces, wellKnownPlaces } from '../doctor/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { localAdminClient } from './client.ts';
import { measureFirst } from './first-measure.ts';
import { configText, type ProposedLimit, proposeTotal } from './init-config.ts';
import { afterReading, askForge } from './init-forge.ts';
import { type InitReport, initText, nextCommands } from './init-report.ts';
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
  const { json = false, enforce = false, worker: hasWorker = false } = options;
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
  const textWith = (limit: ProposedLimit) =>
    configText(found, places, { mode, limit, hasWorker, gits }, asked);
  const config = loadDraft(file, textWith(proposeTotal([], 0, totalBytes ?? -1)));
  await refuseRunning(config);
  const { scan, owners, total, largest, forge: read } = await measureFirst(config, places.account);
  const proposal = proposeTotal(largest, owners, totalBytes);
  writeNew(file, textWith(proposal));
  if (worker !== null) writeUnits(worker);
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
    owners,
    total,
    largest: largest.slice(0, shownOwners),
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
    worker: worker && { user: worker.user, units: worker.units.map(unit => unit.path) },
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
