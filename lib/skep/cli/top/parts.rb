# frozen_string_literal: true

require "json"
require "io/console"
require "skep/cli/text"
require "skep/cli/colours"

# What `skep top` is made of.
%w[paint figures meter view news layout table header panel frame screen keyboard wire acts
   session].each { |name| require "skep/cli/top/#{name}" }
