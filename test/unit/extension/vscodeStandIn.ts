import { join } from 'node:path/posix';
import { Emitter } from '../../../src/base/event.ts';

/**
 * Minimal stand-in for the VS Code API in unit tests, which run without an editor. It records what is shown to the
 * user. Import `vscodeHook.ts` first to substitute it for `vscode`.
 */
export const shown: { level: string; text: string; items: { title: string }[] }[] = [];

/** One serializer per type, looked up when a panel is restored, as in the extension host. */
export const serializers = new Map<
	string,
	{ deserializeWebviewPanel(panel: unknown, state: unknown): Promise<void> }
>();

const show =
	(level: string) =>
	async (text: string, ...items: { title: string }[]) => {
		shown.push({ level, text, items });
		return undefined;
	};

/** Choices for upcoming quick picks, in order; undefined dismisses the quick pick. */
export const picks: (((items: readonly PickItem[]) => unknown) | undefined)[] = [];
export type PickItem = { readonly label: string; readonly description?: string };

export const ViewColumn = { Active: -1, Beside: -2 } as const;
export const ProgressLocation = { Notification: 15 } as const;

/** Selected rows by view. */
export const selections = new Map<string, readonly unknown[]>();

export const window = {
	withProgress: (_: unknown, task: (progress: unknown, token: object) => unknown) =>
		task({ report() {} }, { isCancellationRequested: false, onCancellationRequested: never }),
	showQuickPick: async (items: readonly PickItem[]) => {
		if (picks.length === 0) throw new Error('unexpected quick pick');
		return picks.shift()?.(items);
	},
	showInformationMessage: show('information'),
	showWarningMessage: show('warning'),
	showErrorMessage: show('error'),
	activeTextEditor: undefined as unknown,
	createQuickPick: () => new Input(),
	createInputBox: () => new Input(),
	createTreeView: (id: string) => ({
		visible: true,
		get selection() {
			return selections.get(id) ?? [];
		},
		onDidChangeVisibility: () => ({ dispose() {} }),
		dispose() {},
	}),
	createWebviewPanel: (): unknown => undefined,
	registerWebviewPanelSerializer(type: string, serializer: never) {
		if (serializers.has(type)) throw new Error(`Serializer for '${type}' already registered`);
		serializers.set(type, serializer);
		return { dispose: () => serializers.delete(type) };
	},
};

export { Emitter as EventEmitter } from '../../../src/base/event.ts';

export class TreeItem {
	readonly label: unknown;
	readonly collapsibleState: number;
	constructor(label: unknown, collapsibleState = 0) {
		this.label = label;
		this.collapsibleState = collapsibleState;
	}
}
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 } as const;

export class ThemeColor {
	readonly id: string;
	constructor(id: string) {
		this.id = id;
	}
}

export class ThemeIcon {
	static readonly File = new ThemeIcon('file');
	readonly id: string;
	readonly color: ThemeColor | undefined;
	constructor(id: string, color?: ThemeColor) {
		this.id = id;
		this.color = color;
	}
}

export class Uri {
	readonly scheme: string;
	readonly path: string;
	constructor(scheme: string, path: string) {
		this.scheme = scheme;
		this.path = path;
	}
	static file(path: string): Uri {
		return new Uri('file', path);
	}
	static joinPath({ scheme, path }: Uri, ...names: string[]): Uri {
		return new Uri(scheme, join(path, ...names));
	}
	get fsPath(): string {
		return this.path;
	}
}

export class TabInputText {
	readonly uri: Uri;
	constructor(uri: Uri) {
		this.uri = uri;
	}
}

export class Range {
	readonly start: number;
	readonly end: number;
	constructor(startLine: number, _startCharacter: number, endLine: number) {
		this.start = startLine;
		this.end = endLine;
	}
}

export const QuickPickItemKind = { Separator: -1, Default: 0 } as const;
export const QuickInputButtons = { Back: { back: true } } as const;

/** A quick pick or input box as the user sees it. */
export interface Asked {
	readonly title: string;
	readonly step: number | undefined;
	readonly totalSteps: number | undefined;
	readonly placeholder: string | undefined;
	/** Items of a quick pick, without separators. */
	readonly items: readonly PickItem[];
	/** Label of the preselected item. */
	readonly proposed: string | undefined;
	/** Initial value of an input box. */
	readonly value: string;
}

/** Simulated user action: picks a label, types texts until one is accepted, goes back or cancels. */
export type Reply = { readonly pick: string | RegExp } | { readonly type: readonly string[] } | 'back' | 'cancel';

/** Replies to the quick picks and input boxes that `createQuickPick` and `createInputBox` show, in order. */
export const replies: ((asked: Asked) => Reply)[] = [];

class Input {
	readonly #accepted = new Emitter<void>();
	readonly #button = new Emitter<unknown>();
	readonly #hidden = new Emitter<void>();
	readonly #typed = new Emitter<string>();
	readonly onDidAccept = this.#accepted.event;
	readonly onDidTriggerButton = this.#button.event;
	readonly onDidHide = this.#hidden.event;
	readonly onDidChangeValue = this.#typed.event;
	title = '';
	value = '';
	busy = false;
	step: number | undefined;
	totalSteps: number | undefined;
	placeholder: string | undefined;
	validationMessage: string | undefined;
	items: readonly PickItem[] = [];
	activeItems: readonly PickItem[] = [];
	selectedItems: readonly PickItem[] = [];
	buttons: readonly unknown[] = [];
	#disposed = false;

	/** Shows the question, which is answered once its items are loaded. */
	show(): void {
		const reply = () => {
			if (this.#disposed) return;
			if (this.busy) setImmediate(reply);
			else this.#answer();
		};
		setImmediate(reply);
	}

	dispose(): void {
		this.#disposed = true;
	}

	#answer(): void {
		const reply = replies.shift();
		if (reply === undefined) throw new Error(`"${this.title}" was not expected`);
		const { title, step, totalSteps, placeholder, value } = this;
		const items = this.items.filter((item) => (item as { kind?: number }).kind !== QuickPickItemKind.Separator);
		const asked = { title, step, totalSteps, placeholder, items, value };
		const answer = reply({ ...asked, proposed: this.activeItems[0]?.label });
		if (answer === 'cancel') this.#hidden.fire();
		else if (answer === 'back') {
			if (this.buttons.length === 0) throw new Error(`"${title}" has no Back button`);
			this.#button.fire(this.buttons[0]);
		} else if ('pick' in answer) {
			const { pick } = answer;
			const found = items.find(({ label }) => (typeof pick === 'string' ? label === pick : pick.test(label)));
			if (found === undefined) throw new Error(`"${title}" offers no ${pick}`);
			this.selectedItems = [found];
			this.#accepted.fire();
		} else this.#type(answer.type);
	}

	#type(texts: readonly string[]): void {
		for (const text of texts) {
			this.value = text;
			this.#typed.fire(text);
			faults.push(this.validationMessage ?? null);
			this.#accepted.fire();
			if (this.#disposed) return;
		}
		throw new Error(`"${this.title}" accepts none of ${texts.join(', ')}`);
	}
}

/** Validation message for each typed text, or null if valid. */
export const faults: (string | null)[] = [];

/** Settings set by a test. */
export const configured = new Map<string, unknown>();

/** Extensions installed by a test: ids and exports. */
export const installed = new Map<string, unknown>();

const never = () => ({ dispose() {} });

export const extensions = {
	onDidChange: never,
	getExtension: (id: string) =>
		installed.has(id) ? { id, isActive: false, activate: async () => installed.get(id) } : undefined,
};

export const workspace = {
	isTrusted: false,
	onDidChangeConfiguration: never,
	onDidChangeWorkspaceFolders: never,
	getWorkspaceFolder: () => undefined,
	workspaceFolders: undefined as { uri: Uri; name?: string }[] | undefined,
	asRelativePath: (uri: { path: string }) => uri.path,
	getConfiguration: () => ({ get: (id: string) => configured.get(id) }),
	openTextDocument: async () => {
		throw new Error('no document is opened in an untrusted workspace');
	},
};

const handlers = new Map<string, (...args: unknown[]) => unknown>();

export const commands = {
	registerCommand(id: string, handler: (...args: unknown[]) => unknown) {
		handlers.set(id, handler);
		return { dispose: () => handlers.delete(id) };
	},
	executeCommand: async (id: string, ...args: unknown[]) => handlers.get(id)?.(...args),
};
