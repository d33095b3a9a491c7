import type { ResultPlace, ResultStatus } from '../../src/protocol/verificationMessages.ts';
import type { EmptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

const doing = {
	verification: { loading: 'Loading the reward file', running: 'Scoring rows' },
	audit: { loading: 'Loading the reward file', running: 'Scoring probes' },
	comparison: { loading: 'Loading the reward files', running: 'Scoring rollouts' },
} as const;
const again = { verification: 'Verify Again', audit: 'Audit Again', comparison: 'Compare Again' } as const;
const first = { verification: 'Verify', audit: 'Audit', comparison: 'Compare' } as const;
const did = { verification: 'verified', audit: 'audited', comparison: 'compared' } as const;

/** Returns the empty state: why there are no results, and what the user can do. Pure, except for the actions. */
export function absence(
	place: ResultPlace,
	status: ResultStatus,
	act: { readonly again: () => void; readonly cancel: () => void; readonly openFile: () => void },
): EmptyState {
	const { view, reward } = place;
	const name = plainLabel(reward, 100);
	switch (status.phase) {
		case 'loading':
		case 'running':
			return {
				title: `${doing[view][status.phase]}…`,
				text: `Results for ${name} will appear here.`,
				actions: [{ label: 'Cancel', run: act.cancel }],
			};
		case 'failed': {
			const { message = 'Cannot run the reward.', action } = status.failure ?? {};
			return {
				title: `${name} could not be ${did[view]}`,
				text: plainLabel(action == null ? message : `${message} ${action}`, 1000),
				actions: [
					{ label: again[view], run: act.again },
					{ label: 'Open File', run: act.openFile },
				],
			};
		}
		case 'idle':
			return {
				title: 'No results in this window',
				text: `Results are not saved to disk, and ${name} has not been ${did[view]} since this window was opened.`,
				actions: [{ label: first[view], run: act.again }],
			};
		case 'done':
			return {
				title: `No results for ${name}`,
				text: `The file no longer contains this reward, or there is no data to run it on. Open the file to check, or specify a dataset in it.`,
				actions: [
					{ label: 'Open File', run: act.openFile },
					{ label: again[view], run: act.again },
				],
			};
	}
}
