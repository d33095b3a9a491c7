import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { settingIds } from '../ids.ts';
import { rewardSettings } from './rewardSettings.ts';

const extensionId = 'ms-python.python';
/** Maximum time to wait for the Python extension to find environments, in milliseconds. */
const patienceMs = 10_000;

/** The subset of the Python extension's API used here. Each member is checked before it is called. */
interface Environments {
	getActiveEnvironmentPath?(resource?: vscode.Uri): { readonly id: string; readonly path: string } | undefined;
	resolveEnvironment?(
		environment: unknown,
	): Promise<{ readonly executable?: { readonly uri?: vscode.Uri } } | undefined>;
	readonly onDidChangeActiveEnvironmentPath?: (listener: () => void) => vscode.Disposable;
}

/**
 * Determines the Python interpreter that runs a reward: the environment selected for the file in the Python extension,
 * if installed, or the interpreter in the setting. If neither is set, `python3` is looked up when needed.
 */
export class PythonInterpreter extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	/** Fires when the selected interpreter may have changed. */
	readonly onDidChange = this.#changed.event;
	#environments: Promise<Environments | null> | null = null;
	/** Interpreter paths by workspace folder, cached until something changes. */
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

	/** Returns a path or a name on PATH, or null if none is specified. */
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
		const selected = this.#selected(file).catch(() => null);
		const path = await within(patienceMs, selected);
		// A late result is available on the next use.
		if (path === late) void selected.then(() => this.#paths.clear());
		return (path === late ? null : path) ?? rewardSettings.python(file);
	}

	async #selected(file: vscode.Uri | undefined): Promise<string | null> {
		this.#environments ??= this.#api();
		const environments = await this.#environments;
		const active = environments?.getActiveEnvironmentPath?.(file);
		if (environments === null || active === undefined) return null;
		// The environment's path may be a folder; resolving it returns the executable.
		const resolved = await environments.resolveEnvironment?.(active);
		return resolved?.executable?.uri?.fsPath ?? null;
	}

	async #api(): Promise<Environments | null> {
		const extension = vscode.extensions.getExtension<{ readonly environments?: Environments }>(extensionId);
		if (extension === undefined) return null;
		const environments = (await extension.activate())?.environments ?? null;
		const changed = environments?.onDidChangeActiveEnvironmentPath?.(() => this.#changed.fire());
		if (changed !== undefined) this.register(changed);
		return environments;
	}
}

const late = Symbol('late');

async function within<T>(ms: number, work: Promise<T>): Promise<T | typeof late> {
	let timer: NodeJS.Timeout | undefined;
	const end = new Promise<typeof late>((resolve) => {
		timer = setTimeout(() => resolve(late), ms);
	});
	try {
		return await Promise.race([work, end]);
	} finally {
		clearTimeout(timer);
	}
}
