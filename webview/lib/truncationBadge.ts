import { element } from './dom.ts';

/**
 * Creates a badge for a truncated completion; returns null if the completion finished. A null argument means that
 * truncation was not recorded.
 */
export function truncationBadge(truncated: boolean | null): HTMLElement | null {
	if (truncated === false) return null;
	if (truncated === null) {
		const title = 'The trainer did not record whether this completion was truncated';
		return element('span', { class: 'quiet', title }, 'Truncation not recorded');
	}
	return element('span', { class: 'badge warning', title: 'Truncated at the completion length limit' }, 'Truncated');
}
