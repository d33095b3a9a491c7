import type { ResultPlace } from '../../src/protocol/verificationMessages.ts';
import { button } from '../lib/controls.ts';
import { element } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { absence } from './absence.ts';
import type { ResultsModel } from './resultsModel.ts';

export function absenceView(model: ResultsModel, place: ResultPlace): HTMLElement {
	return emptyState(
		absence(place, model.status, {
			again: () => model.post({ type: 'again' }),
			cancel: () => model.post({ type: 'cancel' }),
			openFile: () => model.post({ type: 'openFile', line: null }),
		}),
	);
}

/** Returns a notice above an outdated result that explains why there is no newer one, or null if there was no error. */
export function failureNotice(model: ResultsModel): HTMLElement | null {
	const { status, loadFailure } = model;
	if (loadFailure !== null) {
		return element(
			'div',
			{ class: 'notice', role: 'alert' },
			`Some rows could not be loaded: ${plainLabel(loadFailure, 400)}`,
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
			element('strong', null, 'The last run failed. '),
			plainLabel(message, 1000),
			' ',
			plainLabel(action ?? '', 400),
		),
		button({ label: 'Open File', onClick: () => model.post({ type: 'openFile', line: null }) }).element,
	);
}
