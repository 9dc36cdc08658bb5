import type { MetricDefinition } from './definition.ts';
import { destinationCatalogue } from './destination-catalogue.ts';
import { HistogramFamily, NumberFamily } from './metric-family.ts';
import { requestCatalogue } from './request-catalogue.ts';
import { sliCatalogue, stateCatalogue } from './state-catalogue.ts';
import { syncCatalogue } from './sync-catalogue.ts';

/** The type of family for a definition. */
type FamilyOf<Definition extends MetricDefinition> = Definition['type'] extends 'histogram'
  ? HistogramFamily<Definition['labels']>
  : NumberFamily<Definition['labels']>;

type FamiliesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>> = {
  readonly [Name in keyof Catalogue]: FamilyOf<Catalogue[Name]>;
};

/** One family for each entry of the catalogue, all at zero. */
export interface MetricRegistry {
  readonly requests: FamiliesOf<typeof requestCatalogue>;
  readonly destinations: FamiliesOf<typeof destinationCatalogue>;
  readonly state: FamiliesOf<typeof stateCatalogue>;
  readonly sync: FamiliesOf<typeof syncCatalogue>;
  readonly slis: FamiliesOf<typeof sliCatalogue>;
}

export function createMetricRegistry(): MetricRegistry {
  return {
    requests: familiesOf(requestCatalogue),
    destinations: familiesOf(destinationCatalogue),
    state: familiesOf(stateCatalogue),
    sync: familiesOf(syncCatalogue),
    slis: familiesOf(sliCatalogue),
  };
}

function familiesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>>(
  catalogue: Catalogue,
): FamiliesOf<Catalogue> {
  const families = Object.entries(catalogue).map(([name, definition]) => [
    name,
    definition.type === 'histogram' ? new HistogramFamily(definition) : new NumberFamily(definition),
  ]);
  // Each entry is made as `FamilyOf` says.
  return Object.fromEntries(families) as FamiliesOf<Catalogue>;
}
