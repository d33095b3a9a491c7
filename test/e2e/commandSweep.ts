import type { HostDriver } from './hostDriver.ts';
import type { WorkbenchPage } from './pages/workbenchPage.ts';

export interface SweptCommand {
	readonly command: string;
	/** Name of the arguments passed. */
	readonly given: string;
	/** Notifications shown by the command. */
	readonly notices: readonly string[];
	/** Whether the command did not finish in time. */
	readonly pending: boolean;
}

export interface SweepOptions {
	readonly commands: readonly string[];
	/** Arguments by name: strings, objects, or `{"file": PATH}` for a file as menus pass it. */
	readonly arguments: Readonly<Record<string, readonly unknown[]>>;
	/** Time limit per call. */
	readonly milliseconds: number;
}

/** Calls each command with each set of arguments inside the extension host. Prompts are dismissed unanswered. */
export async function sweepCommands(
	driver: HostDriver,
	workbench: WorkbenchPage,
	options: SweepOptions,
): Promise<SweptCommand[]> {
	// Native dialogs are outside the commands' control, so close them with Escape.
	const closing = setInterval(() => void workbench.page.keyboard.press('Escape').catch(() => undefined), 300);
	try {
		return await sweep(driver, options);
	} finally {
		clearInterval(closing);
	}
}

function sweep(driver: HostDriver, options: SweepOptions): Promise<SweptCommand[]> {
	return driver.run(async (vscode, { commands, arguments: given, milliseconds }) => {
		type Notices = { onDidShow(listener: (notice: { text: string }) => void): { dispose(): void } };
		const extension = vscode.extensions.getExtension<{ notices: Notices }>('reasoning-lab.reasoning-lab');
		if (extension === undefined) throw new Error('The extension is not installed');
		const { notices: shown } = await extension.activate();
		let notices: string[] = [];
		const listening = shown.onDidShow(({ text }) => notices.push(text));
		const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
		const swept: SweptCommand[] = [];
		for (const command of commands) {
			for (const [name, values] of Object.entries(given)) {
				notices = [];
				let ended = false;
				const args = values.map((value) => {
					const { file } = (value ?? {}) as { file?: unknown };
					return typeof file === 'string' ? vscode.Uri.file(file) : value;
				});
				void vscode.commands.executeCommand(command, ...args).then(
					() => {
						ended = true;
					},
					(error: unknown) => {
						ended = true;
						notices.push(`failed: ${error}`);
					},
				);
				for (const end = Date.now() + milliseconds; !ended && Date.now() < end; ) {
					await pause(20);
					if (ended) break;
					await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
					await vscode.commands.executeCommand('notifications.clearAll');
				}
				swept.push({ command, given: name, notices: [...notices], pending: !ended });
			}
		}
		listening.dispose();
		return swept;
	}, options);
}
