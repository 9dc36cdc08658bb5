import { protocols } from '../support/security/recording-backend.ts';
import { answerFaults } from './laboratory/answer-faults.ts';
import { connectionFaults } from './laboratory/connection-faults.ts';
import { places } from './laboratory/fault.ts';
import { meetFault } from './laboratory/fault-experiment.ts';
import { inLaboratories, type Laboratory } from './laboratory/laboratory.ts';

for (const fault of [...connectionFaults, ...answerFaults]) {
  const experiments = (fault.protocols ?? protocols).flatMap((protocol) =>
    (fault.places ?? places).map(
      (place) =>
        [
          `${place}, ${protocol}`,
          (laboratory: Laboratory) => meetFault(laboratory, fault, place, protocol),
        ] as const,
    ),
  );
  inLaboratories(`a server that ${fault.name}`, Object.fromEntries(experiments));
}
