// The only file that imports the webview toolkit, which is archived. To replace the toolkit, replace this file.
import {
	provideVSCodeDesignSystem,
	vsCodeButton,
	vsCodeCheckbox,
	vsCodeDropdown,
	vsCodeOption,
	vsCodeTextField,
} from '@vscode/webview-ui-toolkit';
import { element, fill, setAria, setText, setTitle, uniqueId } from './dom.ts';
import { type IconName, icon } from './icons.ts';
import { visibleText } from './trace/hiddenCharacters.ts';

/** Registers the components created by the functions below. Must be called once before any of them. */
export function registerControls(): void {
	provideVSCodeDesignSystem().register(
		vsCodeButton(),
		vsCodeCheckbox(),
		vsCodeDropdown(),
		vsCodeOption(),
		vsCodeTextField(),
	);
}

export interface Control {
	readonly element: HTMLElement;
	setDisabled(disabled: boolean): void;
	setHidden(hidden: boolean): void;
}

function control<T extends HTMLElement & { disabled: boolean }>(node: T, root: HTMLElement = node): Control {
	return {
		element: root,
		setDisabled: (disabled) => {
			// The component reflects the property to the attribute asynchronously, but the attribute to the property
			// immediately.
			node.toggleAttribute('disabled', disabled);
		},
		setHidden: (hidden) => {
			root.hidden = hidden;
		},
	};
}

export interface ButtonOptions {
	/** Accessible name; also the visible text, unless the button has only an icon. */
	readonly label: string;
	readonly appearance?: 'primary' | 'secondary' | 'icon';
	readonly icon?: IconName;
	/** Tooltip. Defaults to the label for icon buttons. */
	readonly title?: string;
	/** Whether a toggle button is pressed; undefined for other buttons. */
	readonly pressed?: boolean;
	readonly onClick: () => void;
}

export interface ButtonControl extends Control {
	setLabel(label: string, icon?: IconName): void;
	setPressed(pressed: boolean): void;
}

type ToolkitButton = HTMLElement & { disabled: boolean; ariaPressed: string | null };

export function button(options: ButtonOptions): ButtonControl {
	const node = document.createElement('vscode-button') as ToolkitButton;
	const isIcon = options.appearance === 'icon';
	// Must be set before the appearance; otherwise the component names itself "Icon Button".
	setAria(node, 'label', options.label);
	node.setAttribute('appearance', options.appearance ?? 'secondary');
	const base = control(node);
	const setLabel = (label: string, name: IconName | undefined = options.icon): void => {
		setAria(node, 'label', label);
		setTitle(node, options.title ?? (isIcon ? label : ''));
		const symbol = name === undefined ? null : icon(name);
		if (symbol && !isIcon) symbol.setAttribute('slot', 'start');
		fill(node, symbol, isIcon ? null : label);
	};
	setLabel(options.label);
	const setPressed = (pressed: boolean): void => {
		node.setAttribute('aria-pressed', String(pressed));
		node.classList.toggle('pressed', pressed);
	};
	if (options.pressed !== undefined) setPressed(options.pressed);
	node.addEventListener('click', () => {
		if (!node.disabled) options.onClick();
	});
	return { ...base, setLabel, setPressed };
}

export interface CheckboxOptions {
	readonly label: string;
	readonly title?: string;
	readonly checked: boolean;
	readonly onChange: (checked: boolean) => void;
}

export interface CheckboxControl extends Control {
	setChecked(checked: boolean): void;
}

type ToolkitCheckbox = HTMLElement & { disabled: boolean; checked: boolean };

export function checkbox(options: CheckboxOptions): CheckboxControl {
	const node = document.createElement('vscode-checkbox') as ToolkitCheckbox;
	setText(node, options.label);
	setAria(node, 'label', options.label);
	if (options.title !== undefined) setTitle(node, options.title);
	node.checked = options.checked;
	if (options.checked) node.setAttribute('checked', '');
	node.addEventListener('change', () => options.onChange(node.checked));
	return {
		...control(node),
		setChecked: (checked) => {
			if (node.checked !== checked) node.checked = checked;
		},
	};
}

export interface Choice {
	readonly value: string;
	readonly label: string;
}

export interface DropdownOptions {
	readonly label: string;
	/** Whether to show the label next to the control; it is announced either way. */
	readonly showLabel?: boolean;
	readonly choices: readonly Choice[];
	readonly value: string;
	readonly onChange: (value: string) => void;
}

export interface DropdownControl extends Control {
	setValue(value: string): void;
	setChoices(choices: readonly Choice[], value: string): void;
}

type ToolkitDropdown = HTMLElement & { disabled: boolean; open: boolean; value: string };

export function dropdown(options: DropdownOptions): DropdownControl {
	const node = document.createElement('vscode-dropdown') as ToolkitDropdown;
	setAria(node, 'label', options.label);
	const setChoices = (choices: readonly Choice[], value: string): void => {
		fill(
			node,
			...choices.map((choice) => {
				const option = document.createElement('vscode-option');
				option.setAttribute('value', choice.value);
				if (choice.value === value) option.setAttribute('selected', '');
				setText(option, choice.label);
				return option;
			}),
		);
		node.value = value;
	};
	setChoices(options.choices, options.value);
	leaveFocus(node);
	let wanted = options.value;
	// In an open list, the value is the highlighted option. A redraw must not move the highlight away from it.
	const show = (): void => {
		if (!node.open && node.value !== wanted) node.value = wanted;
	};
	node.addEventListener('change', () => {
		wanted = node.value;
		options.onChange(node.value);
	});
	// The attribute is updated after the list has closed and the change has been reported.
	new MutationObserver(show).observe(node, { attributeFilter: ['open'] });
	const root = options.showLabel
		? element('span', { class: 'labeled' }, element('span', { aria: { hidden: true } }, options.label), node)
		: node;
	return {
		...control(node, root),
		setChoices: (choices, value) => {
			wanted = value;
			setChoices(choices, value);
		},
		setValue: (value) => {
			wanted = value;
			show();
		},
	};
}

/**
 * The component focuses itself in a frame after its list has opened. If the list has closed by then, this would steal
 * focus from whatever the user has clicked in the meantime, such as another list, which would then close.
 */
function leaveFocus(node: ToolkitDropdown): void {
	let opening = 0;
	const watch = (): void => {
		opening += 1;
		// The component may request its frame after this one.
		requestAnimationFrame(() =>
			requestAnimationFrame(() => {
				opening -= 1;
			}),
		);
	};
	node.addEventListener('click', watch);
	node.addEventListener('keydown', watch);
	const focus = node.focus.bind(node);
	node.focus = (options) => {
		if (opening === 0 || node.open) focus(options);
	};
}

export interface TextFieldOptions {
	readonly label: string;
	readonly placeholder?: string;
	readonly value?: string;
	/** Icon at the start of the field. */
	readonly icon?: IconName;
	readonly onInput: (value: string) => void;
}

export interface TextFieldControl extends Control {
	readonly value: string;
	setValue(value: string): void;
	focus(): void;
}

type ToolkitTextField = HTMLElement & { disabled: boolean; value: string };

export function textField(options: TextFieldOptions): TextFieldControl {
	const node = document.createElement('vscode-text-field') as ToolkitTextField;
	const label = visibleText(options.label);
	const name = (): void => {
		if (node.getAttribute('aria-label') !== label) setAria(node, 'label', label);
	};
	name();
	// The component resets its name to "Text field" whenever it is attached.
	new MutationObserver(name).observe(node, { attributes: true, attributeFilter: ['aria-label'] });
	if (options.placeholder !== undefined) node.setAttribute('placeholder', visibleText(options.placeholder));
	if (options.icon !== undefined) {
		const symbol = icon(options.icon);
		symbol.setAttribute('slot', 'start');
		node.append(symbol);
	}
	node.value = options.value ?? '';
	node.addEventListener('input', () => options.onInput(node.value));
	return {
		...control(node),
		get value() {
			return node.value;
		},
		setValue: (value) => {
			if (node.value !== value) node.value = value;
		},
		focus: () => node.focus(),
	};
}

export interface SliderOptions {
	readonly label: string;
	readonly title?: string;
	readonly min: number;
	readonly max: number;
	readonly step: number;
	readonly value: number;
	readonly format: (value: number) => string;
	readonly onInput: (value: number) => void;
}

export interface SliderControl extends Control {
	setValue(value: number): void;
}

/** Creates a native slider, styled by controls.css, because the toolkit does not have one. */
export function slider(options: SliderOptions): SliderControl {
	const id = uniqueId('slider');
	const input = element('input', {
		id,
		class: 'slider',
		attributes: { type: 'range', min: options.min, max: options.max, step: options.step },
	});
	const output = element('output', { attributes: { for: id }, class: 'slider-value' });
	const show = (value: number): void => {
		setText(output, options.format(value));
		setAria(input, 'valuetext', options.format(value));
	};
	input.value = String(options.value);
	show(options.value);
	input.addEventListener('input', () => {
		show(Number(input.value));
		options.onInput(Number(input.value));
	});
	const root = element(
		'span',
		{ class: 'labeled', ...(options.title === undefined ? {} : { title: options.title }) },
		element('label', { attributes: { for: id } }, options.label),
		input,
		output,
	);
	return {
		...control(input, root),
		setValue: (value) => {
			input.value = String(value);
			show(value);
		},
	};
}
