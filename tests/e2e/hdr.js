// SPDX-License-Identifier: GPL-3.0-or-later
// hdr.js MODULE LOG: read an interval log with hdr-histogram-js (MODULE is its folder) and print
// per interval: tag, samples, smallest, largest, p50, p99, length in ms.
const hdr = require(process.argv[2]);
const reader = new hdr.HistogramLogReader(require('fs').readFileSync(process.argv[3], 'utf8'));

for (let h; (h = reader.nextIntervalHistogram()) !== null;) {
	const ms = Math.round(h.endTimeStampMsec - h.startTimeStampMsec);

	console.log(h.tag, h.totalCount, h.minNonZeroValue, h.maxValue, h.getValueAtPercentile(50),
		h.getValueAtPercentile(99), ms);
}
