/**
 * Answers about the files and refs that take the space inside repositories, and about the effect of removing
 * them.
 */

import { z } from 'zod';
import { bytes, component, strictComponent } from './bounds.ts';
import { unreachableGarbage } from './requests.ts';

const count = z.number().int().min(0);
const name = z.string().max(4096);
const frees = bytes.meta({ description: 'The bytes that this would free, once garbage is collected.' });
const commands = z
  .array(z.string().max(40_000))
  .max(5)
  .meta({ description: 'Lines to copy; none where there is nothing that a user can do.' });

export const spaceReport = component('SpaceReport', 'What takes the space in one repository.', {
  object_bytes: bytes.meta({
    description: 'The bytes of all objects; one that is there twice counts twice.',
  }),
  reachable_bytes: bytes,
  unreachable_bytes: bytes.meta({ description: 'What a collection of garbage frees.' }),
  objects: count.meta({ description: 'The number of reachable objects.' }),
  packs: count,
  loose_objects: count,
  kept_bytes: bytes.meta({ description: 'Packs that a `.keep` file protects.' }),
  leftover_bytes: bytes.meta({ description: 'Files in the making that nobody goes on writing.' }),
  paths: z
    .array(
      z.object({
        path: name,
        other_names: z.array(name).max(10).default([]).meta({
          description: 'Names that its versions also have, such as before it was moved; they go with it.',
        }),
        bytes: bytes.meta({
          description: 'Of all versions over all of the history that have no other names, each once.',
        }),
        versions: count,
        in_default_branch: z.boolean(),
        frees,
        commands,
      }),
    )
    .max(20),
  refs: z
    .array(
      z.object({
        name,
        bytes: bytes.meta({ description: 'What nothing else reaches.' }),
        commits: count,
        default_branch: z.boolean(),
        frees,
        commands,
      }),
    )
    .max(20),
  namespaces: z
    .array(z.object({ name, refs: count, bytes }))
    .max(20)
    .meta({
      description: 'Refs that users do not push, and `reflogs`, with what only they hold together.',
    }),
  lfs: z
    .object({
      count,
      bytes,
      largest: z.array(z.object({ oid: z.string().max(64), bytes })).max(20),
    })
    .nullable()
    .meta({
      description:
        "Objects of git-lfs that no file of any version names; softquota never deletes them. Null: nobody knows which are the repository's, or there are too many to look through.",
    }),
  cut: z.boolean().meta({ description: 'There was not enough time to examine everything.' }),
});

export type SpaceReport = z.infer<typeof spaceReport>;

const time = z.string().meta({ description: 'ISO 8601.' });

const repositorySpace = component('RepositorySpace', {
  name: z.string(),
  inherited: z.boolean().optional().meta({
    description: 'True: forks of a project that is gone have it in common, and it counts for one of them.',
  }),
  of_gitlab: z.boolean().optional().meta({
    description: 'True: GitLab collects its garbage, within ten days, and softquota does not.',
  }),
  stored_bytes: bytes.meta({ description: 'The whole directory, as it counts.' }),
  reachable_bytes: bytes.nullable().meta({ description: 'Null: not measured yet.' }),
  unreachable_bytes: bytes.nullable(),
  measured_at: time.nullable(),
  fault: z.string().nullable().meta({ description: 'Why it could not be measured or collected.' }),
  collected: z
    .object({ at: time, freed_bytes: z.number().int(), fault: z.string().nullable() })
    .nullable()
    .meta({ description: 'The last collection of garbage since the worker started.' }),
});

export type RepositorySpace = z.infer<typeof repositorySpace>;

export const spaceAnswer = component('Space', "What takes the space of an owner's repositories.", {
  owner: z.string(),
  stored_bytes: bytes.meta({ description: 'All repositories of this host.' }),
  unreachable_bytes: bytes.meta({ description: 'Of it unreachable, as far as it was measured.' }),
  garbage: unreachableGarbage
    .optional()
    .meta({ description: 'What of all data does not count; left out if all counts.' }),
  repositories: z.array(repositorySpace).max(1000).meta({ description: 'Largest first.' }),
  state: z.enum(['none', 'running', 'done', 'failed']).meta({
    description: '`none`: no repository was named. `running`: ask again in a moment.',
  }),
  report: spaceReport.nullable().meta({
    description: 'The last report; an old one while `state` is not `done`.',
  }),
  reported_at: time.nullable(),
  message: z.string().nullable().meta({ description: 'Why there is no report.' }),
});

export type SpaceAnswer = z.infer<typeof spaceAnswer>;

/** Most collections that one order starts. */
export const mostReclaims = 1000;

export const reclaimOrder = strictComponent('ReclaimOrder', {
  repository: name.optional().meta({
    description: '`OWNER/NAME`, or a path; left out: the 1,000 repositories with the most unreachable bytes.',
  }),
});

export const reclaimRun = component('Reclaim', 'A collection of garbage that somebody asked for.', {
  id: count,
  repository: z.string(),
  state: z.enum(['running', 'done', 'failed']),
  freed_bytes: z.number().int().nullable(),
  unreachable_bytes: bytes
    .nullable()
    .meta({ description: 'What stays, because it became unreachable recently.' }),
  message: z.string().nullable().meta({ description: "Why it failed, in git's words." }),
});

export type ReclaimRun = z.infer<typeof reclaimRun>;
