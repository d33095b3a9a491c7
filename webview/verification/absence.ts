import type { ResultPlace, ResultStatus } from '../../src/protocol/verificationMessages.ts';
import type { EmptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

const doing = {
	verification: { loading: 'The reward file is being loaded', running: 'The rows are being scored' },
	audit: { loading: 'The reward file is being loaded', running: 'The probes are being scored' },
	comparison: { loading: 'The reward files are being loaded', running: 'The rollouts are being scored' },
} as const;
const again = { verification: 'Verify again', audit: 'Audit again', comparison: 'Compare again' } as const;
const first = { verification: 'Verify', audit: 'Audit', comparison: 'Compare' } as const;
const did = { verification: 'verified', audit: 'audited', comparison: 'compared' } as const;

/** Why there is no result, in words, and what to do. Pure but for the actions. */
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
				text: `The results of ${name} appear here when they are there.`,
				actions: [{ label: 'Cancel', run: act.cancel }],
			};
		case 'failed': {
			const { message = 'The reward could not be run.', action } = status.failure ?? {};
			return {
				title: `${name} could not be ${did[view]}`,
				text: plainLabel(action == null ? message : `${message} ${action}`, 1000),
				actions: [
					{ label: again[view], run: act.again },
					{ label: 'Open the file', run: act.openFile },
				],
			};
		}
		case 'idle':
			return {
				title: 'No results in this window',
				text: `Results are made when they are asked for and not kept on disk. ${name} has not been ${did[view]} since the window was opened.`,
				actions: [{ label: first[view], run: act.again }],
			};
		case 'done':
			return {
				title: `The file has no results for ${name}`,
				text: `It has no reward of this name any longer, or nothing to run it on. Open the file to look, or name a dataset in it.`,
				actions: [
					{ label: 'Open the file', run: act.openFile },
					{ label: again[view], run: act.again },
				],
			};
	}
}
