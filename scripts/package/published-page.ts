/** Where a page of the repository leads once it stands in a package, which has no `docs/`. */
export interface Origin {
  /** `repository.url` of package.json, which a release sets. */
  readonly repository: string | undefined;
  /** The commit; default: that of the default branch. */
  readonly commit: string | undefined;
}

/**
 * A page of the repository's root as it is published: what leads to another file of the repository leads there on GitHub, at
 * the commit that was built. Unchanged where the repository is not known. Pure.
 */
export function publishedPage(text: string, { repository, commit = 'HEAD' }: Origin): string {
  const url = /^git\+(https:\/\/github\.com\/[^/]+\/[^/]+?)\.git$/.exec(repository ?? '')?.[1];
  if (url === undefined) return text;
  return (
    text
      // A picture has to be the file itself, not GitHub's page of it.
      .replaceAll(/(\ssrc(?:set)?=")(?=docs\/)/g, `$1${url}/raw/${commit}/`)
      .replaceAll(/(\]\()(?=[\w.])(?!\w+:)/g, `$1${url}/blob/${commit}/`)
  );
}
