import { protocols } from '../../support/api-server-double.ts';
import { answerFaults } from './answer-faults.ts';
import { connectionFaults } from './connection-faults.ts';
import { type Place, places } from './fault.ts';
import { meetFault } from './fault-experiment.ts';
import { inLaboratories, type Laboratory } from './laboratory.ts';

/** Defines a suite for each fault that a server may have, with an experiment for each place and protocol. */
export function meetEveryFault(isWanted: (place: Place) => boolean): void {
  for (const fault of [...connectionFaults, ...answerFaults]) {
    const experiments = (fault.protocols ?? protocols).flatMap((protocol) =>
      (fault.places ?? places)
        .filter(isWanted)
        .map(
          (place) =>
            [
              `${place}, ${protocol}`,
              (laboratory: Laboratory) => meetFault(laboratory, fault, place, protocol),
            ] as const,
        ),
    );
    if (experiments.length > 0)
      inLaboratories(`a server that ${fault.name}`, Object.fromEntries(experiments));
  }
}
