import { formatCount } from '../../src/base/format.ts';
import { element } from '../lib/dom.ts';

/** Number of characters shown initially. */
const firstPart = 4000;

/**
 * Creates a block of text. Long text is shortened, with a button to show all of it. @param total length, if `text` is
 * not complete
 */
export function longText(label: string, text: string, total = text.length): HTMLElement {
	const block = element('pre', { class: 'text', role: 'group', tabIndex: 0, aria: { label } });
	const cut = text.length > firstPart;
	block.append(element('span', null, cut ? `${text.slice(0, firstPart)}…` : text));
	const rest =
		total > text.length && `Showing the first ${formatCount(text.length)} of ${formatCount(total)} characters.`;
	if (text === '') block.append(element('span', { class: 'quiet' }, '(empty)'));
	if (!cut) return element('div', null, block, rest && element('p', { class: 'quiet' }, rest));
	const all = element(
		'button',
		{ class: 'link', attributes: { type: 'button' } },
		`Show all ${formatCount(text.length)} characters`,
	);
	all.addEventListener('click', () => {
		block.replaceChildren(element('span', null, text));
		block.classList.add('expanded');
		all.remove();
		block.focus();
	});
	return element('div', null, block, all, rest && element('p', { class: 'quiet' }, rest));
}
