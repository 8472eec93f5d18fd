/** GitLab: Gitaly runs the hook for all repositories, by a path outside of them. */

import { basename, posix } from 'node:path';
import { isQuarantineName } from '../../../layout/index.ts';
import { nameFault } from '../../../quota/index.ts';
import { fieldOf, type PushFields } from '../fields.ts';
import type { Arriving, GitServer } from './server.ts';

/** A transaction works in a copy of the repository, `STORAGE/+gitaly/snapshots/A/B/REPOSITORY`. */
const snapshot = /^(.*)\/(\+gitaly\/snapshots\/[^/]+\/[^/]+\/(.+))$/s;
/** The quarantine of an edit in the browser or a merge is below the storage. */
const edit = /\/(\+gitaly\/tmp\/quarantine-[^/]+)$/;

export const gitlabServer: GitServer = {
  isHere: fields => fieldOf(fields, 'GL_REPOSITORY') !== '',
  actor: fields => fieldOf(fields, 'GL_USERNAME'),
  directory: directory => {
    const [, storage, , repository] = snapshot.exec(directory) ?? [];
    return storage === undefined ? directory : `${storage}/${repository}`;
  },
  arriving,
  claim: fields => {
    // On other servers a pusher can set these variables, but there the hook lies in the repository.
    const script = fieldOf(fields, 'script');
    if (!script.startsWith('/') || script.startsWith(`${fieldOf(fields, 'directory')}/`)) return null;
    const [ownerName = ''] = fieldOf(fields, 'GL_PROJECT_PATH').split('/', 1);
    if (nameFault(ownerName) !== null) return null;
    const isWiki = fieldOf(fields, 'GL_REPOSITORY').includes('wiki');
    return { ownerName, leaf: isWiki ? 'size:assets:wiki' : 'size:repos:private' };
  },
  hidden: ['refs/keep-around/', 'refs/merge-requests/', 'refs/pipelines/', 'refs/environments/'],
  prefix: 'GL-HOOK-ERR: ',
};

/** Gitaly gives no GIT_QUARANTINE_PATH to hooks. */
function arriving(fields: PushFields): Arriving {
  const directory = fieldOf(fields, 'directory');
  const given = fieldOf(fields, 'GIT_OBJECT_DIRECTORY');
  if (given === '') return { in: 'unknown' };
  const objects = posix.resolve(directory, given);
  if (objects === posix.resolve(directory, 'objects')) return { in: 'nothing' };
  const [, ofEdit] = edit.exec(objects) ?? [];
  if (ofEdit !== undefined) return { in: 'quarantine', name: ofEdit };
  const name = basename(objects);
  if (!isQuarantineName(name)) return { in: 'unknown' };
  const [, , below] = snapshot.exec(directory) ?? [];
  const isInSnapshot = below !== undefined && objects === posix.resolve(directory, 'objects', name);
  return { in: 'quarantine', name: isInSnapshot ? `${below}/objects/${name}` : name };
}
