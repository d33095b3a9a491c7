import { Failure } from '../../../base/failure.ts';
import type { EngineDevice } from '../../../protocol/engineDevices.ts';
import { checkDevices } from '../createLearner.ts';
import { adapterName } from './adapterName.ts';

/** Prints which GPU providers compute correctly on this machine, as one line of JSON. Returns the exit status. */
export async function printDevices(): Promise<number> {
	try {
		const devices: EngineDevice[] = [];
		for (const device of await checkDevices()) {
			const opened = device.error === null || device.faulty;
			devices.push({ ...device, adapter: opened ? await adapterName(device.provider) : null });
		}
		process.stdout.write(`${JSON.stringify({ devices })}\n`);
		return 0;
	} catch (error) {
		process.stderr.write(`${Failure.from(error).toString()}\n`);
		return 1;
	}
}
