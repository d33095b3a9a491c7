/**
 * The little of the editor's API that host code touches in unit tests, where no editor runs; what it shows is recorded.
 * Importing `vscodeHook.ts` first puts it in the place of `vscode`.
 */
export const shown: { level: string; text: string; items: { title: string }[] }[] = [];

/** As in the extension host: one serialiser per type, looked up when a panel comes back. */
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

/** What a person picks from the lists that come up, in their order; undefined: they turn away. */
export const picks: (((items: readonly PickItem[]) => unknown) | undefined)[] = [];
export type PickItem = { readonly label: string; readonly description?: string };

export const ProgressLocation = { Notification: 15 } as const;

export const window = {
	withProgress: (_: unknown, task: (progress: unknown, token: { isCancellationRequested: boolean }) => unknown) =>
		task({ report() {} }, { isCancellationRequested: false }),
	showQuickPick: async (items: readonly PickItem[]) => {
		if (picks.length === 0) throw new Error('no list was expected');
		return picks.shift()?.(items);
	},
	showInformationMessage: show('information'),
	showWarningMessage: show('warning'),
	showErrorMessage: show('error'),
	registerWebviewPanelSerializer(type: string, serializer: never) {
		if (serializers.has(type)) throw new Error(`Serializer for '${type}' already registered`);
		serializers.set(type, serializer);
		return { dispose: () => serializers.delete(type) };
	},
};

/** Settings that a test has set. */
export const configured = new Map<string, unknown>();

/** Extensions that a test has installed: their identifiers and exports. */
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
	getWorkspaceFolder: () => undefined,
	getConfiguration: () => ({ get: (id: string) => configured.get(id) }),
	openTextDocument: async () => {
		throw new Error('no document is opened in an untrusted workspace');
	},
};
