import type { ResultPlace, ResultStatus } from '../../src/protocol/verificationMessages.ts';
import { button } from '../lib/controls.ts';
import { element } from '../lib/dom.ts';
import { type EmptyState, emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ResultsModel } from './resultsModel.ts';

const doing = {
	verification: { loading: 'The reward file is being loaded', running: 'The rows are being scored' },
	audit: { loading: 'The reward file is being loaded', running: 'The probes are being scored' },
	comparison: { loading: 'The reward files are being loaded', running: 'The rollouts are being scored' },
} as const;
const again = { verification: 'Verify again', audit: 'Audit again', comparison: 'Compare again' } as const;
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
				actions: [{ label: again[view], run: act.again }],
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

export function absenceView(model: ResultsModel, place: ResultPlace): HTMLElement {
	return emptyState(
		absence(place, model.status, {
			again: () => model.post({ type: 'again' }),
			cancel: () => model.post({ type: 'cancel' }),
			openFile: () => model.post({ type: 'openFile', line: null }),
		}),
	);
}

/** Above an earlier result: why there is no newer one. null: nothing is wrong. */
export function failureNotice(model: ResultsModel): HTMLElement | null {
	const { status, loadFailure } = model;
	if (loadFailure !== null) {
		return element(
			'div',
			{ class: 'notice', role: 'alert' },
			`Not all rows could be read: ${plainLabel(loadFailure, 400)}`,
		);
	}
	if (status.phase !== 'failed' || status.failure === null) return null;
	const { message, action } = status.failure;
	return element(
		'div',
		{ class: 'notice', role: 'alert' },
		element(
			'span',
			null,
			element('strong', null, 'The last try failed. '),
			plainLabel(message, 1000),
			' ',
			plainLabel(action ?? '', 400),
		),
		button({ label: 'Open the file', onClick: () => model.post({ type: 'openFile', line: null }) }).element,
	);
}
