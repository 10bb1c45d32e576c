# frozen_string_literal: true

module Skep
  VERSION = "0.1.0" # of this skep, as in its gem's name
end
