import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { settingIds } from '../ids.ts';
import { rewardSettings } from './rewardSettings.ts';

const extensionId = 'ms-python.python';
/** The Python extension may take its time to look for environments. */
const patienceMs = 10_000;

/** The part of the Python extension's API that is used; each member is inspected before it is called. */
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
		const selected = this.#selected(file).catch(() => null);
		const path = await within(patienceMs, selected);
		// What comes late is there for the next use.
		if (path === late) void selected.then(() => this.#paths.clear());
		return (path === late ? null : path) ?? rewardSettings.python(file);
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
