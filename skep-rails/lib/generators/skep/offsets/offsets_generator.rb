# frozen_string_literal: true

# `rails generate skep:offsets`: writes the migration that creates the table of
# `offsets: :database`. What is there already stays as it is.
#
#   db/migrate/20260131100000_create_skep_offsets.rb
require "rails/generators"
require "active_record"
require "rails/generators/active_record/migration"

module Skep
  # `rails generate` looks here.
  module Generators
    # Of `rails generate skep:offsets`.
    class OffsetsGenerator < ::Rails::Generators::Base
      include ::ActiveRecord::Generators::Migration

      desc "Writes the migration for Kafka sources with `offsets: :database`"
      source_root File.expand_path("templates", __dir__)

      NAME = "create_skep_offsets"
      private_constant :NAME

      def write_migration
        folder = File.join(destination_root, db_migrate_path)
        there = self.class.migration_exists?(folder, NAME)
        return say_status(:skip, there.delete_prefix("#{destination_root}/"), :yellow) if there

        migration_template "#{NAME}.rb.tt", File.join(db_migrate_path, "#{NAME}.rb")
      end

      def say_what_is_next
        say "\nNext: bin/rails db:migrate, and `offsets: :database` in config/skep.rb"
      end
    end
  end
end
