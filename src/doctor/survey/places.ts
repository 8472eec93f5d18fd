/** Places where git servers keep repositories, when nobody names one. */

import { SoftquotaError } from '../../errors.ts';
import { type Accounts, systemAccounts } from '../accounts.ts';
import { hangs, isDirectory, physical } from './directories.ts';
import { type Survey, survey } from './survey.ts';

/** In the order of preference; of two that lead to the same repositories the first counts. */
export function wellKnownPlaces(accounts: Accounts = systemAccounts()): readonly string[] {
  const homes = accounts.users.filter(({ name }) => name === 'git').map(({ home }) => home);
  return [
    '/srv/git',
    '/var/lib/gitolite3',
    '/var/lib/gitea',
    '/var/lib/forgejo',
    '/var/opt/gitlab/git-data/repositories',
    ...homes
      .filter(home => home.startsWith('/') && home !== '/')
      .flatMap(home => [`${home}/repositories`, home]),
  ];
}

/**
 * The survey of the one place that holds something; throws `usage` where it is none, or several, and
 * `not_ready` where that cannot be told, since the disk of one does not answer.
 */
export async function surveyPlaces(places: readonly string[]): Promise<Survey> {
  const found = new Map<string, Survey>();
  const hung = places.filter(hangs);
  for (const place of places) {
    if (!isDirectory(place)) continue;
    const surveyed = await survey(place).catch((error: unknown) => {
      if (error instanceof SoftquotaError && error.code === 'not_found') return null;
      throw error;
    });
    if (surveyed === null) continue;
    const root = physical(surveyed.root);
    if (!found.has(root)) found.set(root, surveyed);
  }
  const surveys = [...found.values()];
  const [one] = surveys;
  if (hung.length > 0) {
    throw new SoftquotaError(
      'not_ready',
      `it cannot be found out whether repositories are in ${hung.join(', ')}. Name their directory: softquota init ${one?.root ?? 'ROOT'}`,
    );
  }
  if (one === undefined) {
    throw new SoftquotaError(
      'usage',
      `no repositories are in the usual directories (${places.join(', ')}). Name their directory: softquota init ROOT`,
    );
  }
  if (surveys.length > 1) {
    throw new SoftquotaError(
      'usage',
      `repositories are in several directories: ${surveys.map(({ root }) => root).join(', ')}. Name one of them: softquota init ${one.root}`,
    );
  }
  return { ...one, evidence: [`found in one of the usual directories, ${one.root}`, ...one.evidence] };
}
