import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { settingIds } from '../ids.ts';
import { rewardSettings } from './rewardSettings.ts';

const extensionId = 'ms-python.python';
/** The Python extension may take its time to look for environments. */
const patienceMs = 10_000;

/** The part of the Python extension's API that is used; each member is looked at before it is called. */
interface Environments {
	getActiveEnvironmentPath?(resource?: vscode.Uri): { readonly id: string; readonly path: string } | undefined;
	resolveEnvironment?(
		environment: unknown,
	): Promise<{ readonly executable?: { readonly uri?: vscode.Uri } } | undefined>;
	readonly onDidChangeActiveEnvironmentPath?: (listener: () => void) => vscode.Disposable;
}

/**
 * Which Python runs a reward: the environment that the Python extension has selected for the file, where that extension
 * is; else the one of the setting; else none is named, and `python3` is looked for where it is needed.
 */
export class PythonInterpreter extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	/** Another interpreter may hold now. */
	readonly onDidChange = this.#changed.event;
	#environments: Promise<Environments | null> | null = null;
	/** By folder of the workspace, until something changes. */
	readonly #paths = new Map<string, Promise<string | null>>();

	constructor() {
		super();
		this.register(this.#changed.event(() => this.#paths.clear()));
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.pythonPath)) this.#changed.fire();
			}),
		);
		this.register(
			vscode.extensions.onDidChange(() => {
				this.#environments = null;
				this.#paths.clear();
			}),
		);
	}

	/** A path, or a name on PATH; null: nobody names one. */
	path(file?: vscode.Uri): Promise<string | null> {
		const folder = (file && vscode.workspace.getWorkspaceFolder(file)?.uri.toString()) ?? '';
		let path = this.#paths.get(folder);
		if (path === undefined) {
			path = this.#find(file);
			this.#paths.set(folder, path);
		}
		return path;
	}

	async #find(file: vscode.Uri | undefined): Promise<string | null> {
		const selected = await within(patienceMs, this.#selected(file)).catch(() => null);
		return selected ?? rewardSettings.python(file);
	}

	async #selected(file: vscode.Uri | undefined): Promise<string | null> {
		this.#environments ??= this.#api();
		const environments = await this.#environments;
		const active = environments?.getActiveEnvironmentPath?.(file);
		if (environments === null || active === undefined) return null;
		// The environment's path may be a folder; resolved it names the program.
		const resolved = await environments.resolveEnvironment?.(active);
		return resolved?.executable?.uri?.fsPath ?? null;
	}

	async #api(): Promise<Environments | null> {
		const extension = vscode.extensions.getExtension<{ readonly environments?: Environments }>(extensionId);
		if (extension === undefined) return null;
		const environments = (await extension.activate())?.environments ?? null;
		// Who has not waited so long asks again.
		this.#paths.clear();
		const changed = environments?.onDidChangeActiveEnvironmentPath?.(() => this.#changed.fire());
		if (changed !== undefined) this.register(changed);
		return environments;
	}
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | null> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<null>((resolve) => {
		timer = setTimeout(() => resolve(null), ms);
	});
	try {
		return await Promise.race([work, late]);
	} finally {
		clearTimeout(timer);
	}
}
