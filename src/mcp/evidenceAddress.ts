import { formatAddress } from '../core/address/dataAddress.ts';
import type { Evidence } from '../protocol/alert.ts';

/** Returns the address of a rollout, or of a group, that is evidence for a finding. */
export function evidenceAddress(run: string, { step, group, index }: Evidence): string {
	const place = { run, split: 'train', step, group } as const;
	if (index === undefined) return formatAddress({ kind: 'group', ...place });
	return formatAddress({ kind: 'completion', ...place, completion: index, tokens: null });
}
