import {
  type AddressPolicy,
  type AddressPolicyOptions,
  createAddressPolicy,
} from '../../snapshot/addresses/address-policy.ts';

/** The address policy of the moment, for those who ask it anew for each snapshot and each dial. */
export class LiveAddressPolicy implements AddressPolicy {
  #current: AddressPolicy;

  /** @throws as `createAddressPolicy`. */
  constructor(options: AddressPolicyOptions) {
    this.#current = createAddressPolicy(options);
  }

  get allowLoopbackPeers(): boolean {
    return this.#current.allowLoopbackPeers;
  }

  get allowedCidrs(): AddressPolicy['allowedCidrs'] {
    return this.#current.allowedCidrs;
  }

  get allowedPorts(): AddressPolicy['allowedPorts'] {
    return this.#current.allowedPorts;
  }

  replace(policy: AddressPolicy): void {
    this.#current = policy;
  }
}
