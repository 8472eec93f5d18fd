/**
 * The space inside repositories: measures what refs reach, deletes what nothing needs, and says what would
 * free how much.
 *
 * git runs on files of strangers here, so it never reads a repository's configuration, has no network and no
 * terminal, and ends in bounded time. Nothing but a collection changes anything.
 */

export { bashQuoted, spaceJson } from './advice.ts';
export { writeBitmap } from './bitmap.ts';
export { type Collected, collect } from './collect.ts';
export { explainSpace, type SpaceFindings } from './explain.ts';
export { findGit, type GitVersion } from './git-version.ts';
export { measure, type Reachability } from './measure.ts';
export { UnusableRepository } from './unusable-repository.ts';
export { RepositoryView, type RunLimits } from './view.ts';
