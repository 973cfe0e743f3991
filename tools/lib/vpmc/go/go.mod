// SPDX-License-Identifier: MIT
module vpmc

go 1.19
