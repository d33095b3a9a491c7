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

export const window = {
	showInformationMessage: show('information'),
	showWarningMessage: show('warning'),
	showErrorMessage: show('error'),
	registerWebviewPanelSerializer(type: string, serializer: never) {
		if (serializers.has(type)) throw new Error(`Serializer for '${type}' already registered`);
		serializers.set(type, serializer);
		return { dispose: () => serializers.delete(type) };
	},
};

export const workspace = {
	isTrusted: false,
	getConfiguration: () => ({ get: () => undefined }),
	openTextDocument: async () => {
		throw new Error('no document is opened in an untrusted workspace');
	},
};
