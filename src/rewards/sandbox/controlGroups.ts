import { randomBytes } from 'node:crypto';
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTime } from '../../processes/procfs.ts';
import { ControlGroup, endGroup, type GroupLimits } from './controlGroup.ts';
import { findGroupPlace, groupControllers } from './findGroupPlace.ts';

/** Creates control groups for sandboxed programs inside a delegated group. */
export class ControlGroups {
	/** Folder of the parent group. */
	readonly folder: string;
	readonly #owner: string;

	constructor(folder: string, owner: string) {
		this.folder = folder;
		this.#owner = owner;
	}

	/** Creates a group with no processes. Throws file system errors. */
	make(limits: GroupLimits): ControlGroup {
		return new ControlGroup(join(this.folder, `${this.#owner}-${randomBytes(5).toString('hex')}`), limits);
	}
}

/**
 * Removes the control groups of processes that have exited. Returns the groups that this process can create, or a
 * phrase explaining why it cannot create any.
 */
export async function openControlGroups(): Promise<ControlGroups | { readonly missing: string }> {
	const read = (name: string) => readFile(`/proc/self/${name}`, 'utf8').catch(() => '');
	const [mountinfo, cgroup] = await Promise.all([read('mountinfo'), read('cgroup')]);
	const place = await findGroupPlace({ mountinfo, cgroup });
	if ('missing' in place) return place;
	const owner = await ownerName();
	if (owner === null) return { missing: 'this process is not visible in /proc' };
	try {
		if (place.enable) {
			const names = groupControllers.map((name) => `+${name}`).join(' ');
			await writeFile(join(place.folder, 'cgroup.subtree_control'), names, { flag: 'r+' });
		}
		await removeLeftGroups(place.folder);
		const groups = new ControlGroups(place.folder, owner);
		await groups.make({ memoryBytes: 1e6, tasks: 1 }).end();
		return groups;
	} catch (error) {
		return { missing: `cannot create a control group (${(error as NodeJS.ErrnoException).code ?? String(error)})` };
	}
}

const namePattern = /^reasoning-lab-(\d+)-(\d+)-(\d+)-[0-9a-f]+$/;

/**
 * Returns a name that identifies this process. Process IDs are reused and depend on the namespace, so it includes the
 * start time.
 */
async function ownerName(): Promise<string | null> {
	const [namespace, start] = [await processNamespace(), startTime(process.pid)];
	return namespace === null || start === null ? null : `reasoning-lab-${namespace}-${process.pid}-${start}`;
}

async function processNamespace(): Promise<string | null> {
	return /\d+/.exec(await readlink('/proc/self/ns/pid').catch(() => ''))?.[0] ?? null;
}

/** Removes groups whose process was killed before it could remove them. */
export async function removeLeftGroups(folder: string): Promise<void> {
	const own = await processNamespace();
	for (const name of await readdir(folder)) {
		const [, namespace, pid, start] = namePattern.exec(name) ?? [];
		if (namespace === undefined || namespace !== own) continue;
		if (startTime(Number(pid)) !== start) await endGroup(join(folder, name));
	}
}
