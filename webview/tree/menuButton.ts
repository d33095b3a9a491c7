import { nextFocus } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, setAria, uniqueId } from '../lib/dom.ts';
import type { IconName } from '../lib/icons.ts';

export interface MenuItem {
	readonly label: string;
	readonly run: () => void;
}

/** Button with a drop-down menu. Arrow keys move; Escape or a click elsewhere closes it. */
export function menuButton(label: string, icon: IconName, items: readonly MenuItem[]): HTMLElement {
	const id = uniqueId('menu');
	const menu = element('div', { class: 'menu', id, role: 'menu', aria: { label }, attributes: { popover: 'auto' } });
	const opener = button({ label, icon, onClick: () => toggle() });
	setAria(opener.element, 'haspopup', 'menu');
	setAria(opener.element, 'expanded', false);
	const entries = items.map((item) =>
		element(
			'button',
			{
				class: 'menu-item',
				role: 'menuitem',
				tabIndex: -1,
				attributes: { type: 'button' },
				on: {
					click: () => {
						menu.hidePopover();
						item.run();
					},
				},
			},
			item.label,
		),
	);
	menu.append(...entries);
	const toggle = (): void => {
		if (menu.matches(':popover-open')) {
			menu.hidePopover();
			return;
		}
		menu.showPopover();
		const box = opener.element.getBoundingClientRect();
		menu.style.left = `${Math.max(4, Math.min(box.left, window.innerWidth - menu.offsetWidth - 4))}px`;
		menu.style.top = `${box.bottom + 2}px`;
		entries[0]?.focus();
	};
	menu.addEventListener('toggle', (event) => {
		const isOpen = (event as ToggleEvent).newState === 'open';
		setAria(opener.element, 'expanded', isOpen);
		if (!isOpen && menu.contains(document.activeElement)) opener.element.focus();
	});
	menu.addEventListener('keydown', (event) => {
		const at = entries.indexOf(event.target as HTMLButtonElement);
		const to = nextFocus(event.key, at, entries.length);
		if (to === null) return;
		event.preventDefault();
		event.stopPropagation();
		entries[to]?.focus();
	});
	return element('span', { class: 'menu-button' }, opener.element, menu);
}
