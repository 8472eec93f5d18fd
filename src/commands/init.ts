/**
 * `softquota init`: finds out what lies there, writes a configuration that refuses nothing, and measures
 * once.
 */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { configText, proposeTotal, survey, surveyPlaces, wellKnownPlaces } from '../survey/index.ts';
import { printable } from '../text/index.ts';
import { localAdminClient } from './client.ts';
import type { Exit } from './exit.ts';
import { measureFirst } from './first-measure.ts';
import { type InitReport, initText, nextCommands } from './init-report.ts';
import { loadDraft, makeDirectories, placesFor, refuseExisting, writeNew } from './new-config.ts';
import { printJson } from './output.ts';
import { withJsonOption } from './settings.ts';
import { print, tell } from './streams.ts';

interface InitOptions {
  readonly config: string;
  readonly json?: boolean;
}

export function addInit(program: Command, _exit: Exit): void {
  withJsonOption(program.command('init'))
    .summary('find out what lies there, and write a configuration')
    .description(
      'Looks at what lies in a directory: bare repositories with or without directories of owners, gitolite, Gitea,\n' +
        'Forgejo or GitLab. Writes a configuration in MODE = report, which refuses nothing, measures once, and shows\n' +
        'the largest owners, whom a limit would refuse, and what to do next.',
    )
    .argument('[root]', 'where the repositories are; default: the usual places are looked at')
    .option('--config <file>', 'where to write; never over a file that exists', 'app.ini')
    .addHelpText(
      'after',
      '\nOf /etc/softquota/app.ini, written by root, the data go to /var/lib/softquota and the sockets to\n' +
        '/run/softquota; of any other file beside it. A user softquota, if there is one, is given the data.',
    )
    .action(async (root: string | undefined, options: InitOptions) => {
      const report = await init(root, resolve(options.config));
      if (options.json === true) printJson(report);
      else print(initText(report));
    });
}

/** All or nothing: the configuration appears once everything is measured. */
async function init(root: string | undefined, file: string): Promise<InitReport> {
  refuseExisting(file);
  const found = root === undefined ? await surveyPlaces(wellKnownPlaces()) : await survey(resolve(root));
  for (const { path, reason } of found.unread) {
    tell(`softquota: ${printable(`${path}: ${reason}`)}\n`);
  }
  const places = placesFor(file, found.gid);
  makeDirectories(file, places);
  const config = loadDraft(file, configText(found, places, proposeTotal([], 0)));
  await refuseRunning(config);
  const { scan, owners, largest } = await measureFirst(config, places.account);
  const total = proposeTotal(
    largest.map(row => row.total),
    owners,
  );
  writeNew(file, configText(found, places, total));
  const { layout, evidence, advice, repositories, ownerless, stores } = found;
  return {
    config: file,
    layout,
    root: found.root,
    evidence,
    advice,
    repositories,
    scan,
    owners,
    largest: largest.slice(0, shownOwners),
    proposal: {
      total: total.text,
      bytes: total.bytes,
      refused: largest.slice(0, total.refused).map(({ name, total: used }) => ({ name, used })),
    },
    unattributed: { repositories: ownerless.length, such: ownerless.slice(0, 1), stores },
    next: nextCommands(file, layout, found.root),
  };
}

const shownOwners = 10;

/** One daemon has the store, and it has figures of its own. */
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
    `a daemon runs with DATA_PATH = ${dataPath} already (it answers at ${adminSocket}): softquota usage shows what it knows; stop it to begin anew`,
  );
}
