// Waits for a device in the folder given as its argument, prints a message, and releases the device when stdin closes
// or it is killed.
import { acquireDevice } from '../../../src/runs/deviceQueue.ts';

const [folder = '', whenBusy = 'queue', group] = process.argv.slice(2);
console.log('started');
await acquireDevice({
	device: 'cpu',
	folder,
	whenBusy: whenBusy as 'queue' | 'share',
	pollMs: 10,
	...(group === undefined ? {} : { group: { id: group, slots: 2 } }),
	onWait: ({ pid }) => console.log(`waits for ${pid}`),
});
console.log('has it');
setInterval(() => {}, 1000);
