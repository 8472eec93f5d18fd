/** The settings of the forge reader (`[forge]`). */

export const forgeKinds = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;

export type ForgeKind = (typeof forgeKinds)[number];

/** The owner of projects in a subgroup of GitLab: the top-level group, or the subgroup itself. */
export type OwnerLevel = 'top' | 'namespace';

export interface ForgeSettings {
  readonly kind: ForgeKind;
  /** The forge's own configuration file, absolute; null if `database` says all. */
  readonly configFile: string | null;
  /** An address as `parseDatabaseAddress` reads it, which wins over `configFile`; null if not given. */
  readonly database: string | null;
  /** Only for GitLab. */
  readonly ownerLevel: OwnerLevel;
}
